"""Whether notes are linked with what they belong with, in a conversation with labelled matters.

A link is true if its two notes are of one matter. A matter is found if a note that takes it up
is linked to an earlier one of it. A link that only says that a turn follows the one before is
not judged, as that is always true; it leads to the matter all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from amem_integrations.core.note import Link, Note

SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class Matter:
    """What several turns of a conversation are about.

    turns: keys of the turns that must be linked with it. also: of those that may be.
    """

    name: str
    turns: tuple[str, ...]
    also: tuple[str, ...] = ()

    @property
    def members(self) -> frozenset[str]:
        return frozenset((*self.turns, *self.also))


@dataclass(frozen=True, slots=True)
class FalseLink:
    """A link between notes of no matter in common, by their keys."""

    source: str
    to: str
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class LinkScores:
    """links: how many were judged. expected: how often a matter is taken up again.

    precision, recall, f1: in [0, 1]. weight_true, weight_false: mean weights; None without links.
    """

    links: int
    true: int
    expected: int
    found: int
    precision: float
    recall: float
    f1: float
    weight_true: float | None
    weight_false: float | None
    false: tuple[FalseLink, ...]


def score_links(notes: Sequence[Note], matters: Sequence[Matter]) -> LinkScores:
    """Judge the links of the notes of one conversation, which come in its order."""
    by_id = {note.id: note for note in notes}

    def keys(link: Link) -> frozenset[str]:
        return frozenset((by_id[link.source].key, by_id[link.to].key))

    def is_true(link: Link) -> bool:
        return any(keys(link) <= matter.members for matter in matters)

    made = [link for note in notes for link in note.outgoing if link.to in by_id]
    linked = {keys(link) for link in made}
    judged = [link for link in made if not _follows(link, by_id[link.source], by_id[link.to])]
    true = [link for link in judged if is_true(link)]
    false = [link for link in judged if not is_true(link)]
    found = expected = 0
    for matter in matters:
        members = [note.key for note in notes if note.key in matter.members]
        for place, key in enumerate(members):
            if place and key in matter.turns:
                expected += 1
                found += any(frozenset((key, earlier)) in linked for earlier in members[:place])
    precision = len(true) / len(judged) if judged else 0.0
    recall = found / expected if expected else 0.0
    return LinkScores(
        links=len(judged),
        true=len(true),
        expected=expected,
        found=found,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        weight_true=fmean(link.weight for link in true) if true else None,
        weight_false=fmean(link.weight for link in false) if false else None,
        false=tuple(
            FalseLink(by_id[link.source].key, by_id[link.to].key, link.weight, link.reason)
            for link in false
        ),
    )


def _follows(link: Link, source: Note, before: Note) -> bool:
    """Return whether the link leads to the turn before and says no more than that."""
    return (
        link.kind == SEQUENCE
        and source.session == before.session
        and source.sequence is not None
        and before.sequence is not None
        and source.sequence - before.sequence == 1
    )
