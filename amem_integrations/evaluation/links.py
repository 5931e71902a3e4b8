"""Whether notes are linked with what they belong with, on a conversation whose matters are known.

A link is true where its two notes are of one matter. A matter is found again where a note that
takes it up is linked to an earlier one of it. A link that only says that a turn follows the one
before is not judged, as that is always true; it leads to the matter all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from amem_integrations.core.note import Link, Note

SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class Matter:
    """What several turns of a conversation are about.

    turns: the keys of those that must be linked with it. also: of those that may be.
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

    precision, recall, f1: in [0, 1]. weight_true, weight_false: the mean weights of the links;
    None where there is none.
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

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def score_links(notes: Sequence[Note], matters: Sequence[Matter]) -> LinkScores:
    """How well the links of the notes of one conversation, in its order, meet its matters."""
    by_id = {note.id: note for note in notes}
    place = {note.key: at for at, note in enumerate(notes)}
    made = [link for note in notes for link in note.outgoing if link.to in by_id]
    linked = {_keys(link, by_id) for link in made}
    judged = [link for link in made if not _follows(link, by_id)]
    true = [link for link in judged if _is_true(link, by_id, matters)]
    false = [link for link in judged if not _is_true(link, by_id, matters)]
    expected = list(_taken_up(matters, place))
    found = sum(
        any(frozenset((turn, other)) in linked for other in earlier) for turn, earlier in expected
    )
    precision = len(true) / len(judged) if judged else 0.0
    recall = found / len(expected) if expected else 0.0
    both = precision + recall
    return LinkScores(
        links=len(judged),
        true=len(true),
        expected=len(expected),
        found=found,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / both if both else 0.0,
        weight_true=_mean(true),
        weight_false=_mean(false),
        false=tuple(
            FalseLink(by_id[each.source].key, by_id[each.to].key, each.weight, each.reason)
            for each in false
        ),
    )


def _follows(link: Link, notes: Mapping[str, Note]) -> bool:
    """Whether it leads to the turn before and says no more than that."""
    source, before = notes[link.source], notes[link.to]
    return (
        link.kind == SEQUENCE
        and source.session == before.session
        and source.sequence is not None
        and before.sequence is not None
        and source.sequence - before.sequence == 1
    )


def _keys(link: Link, notes: Mapping[str, Note]) -> frozenset[str]:
    return frozenset((notes[link.source].key, notes[link.to].key))


def _is_true(link: Link, notes: Mapping[str, Note], matters: Sequence[Matter]) -> bool:
    return any(_keys(link, notes) <= matter.members for matter in matters)


def _taken_up(
    matters: Sequence[Matter], place: Mapping[str, int]
) -> Iterator[tuple[str, list[str]]]:
    """Each turn that takes a matter up again, with the earlier turns of it."""
    for matter in matters:
        members = sorted((key for key in matter.members if key in place), key=place.__getitem__)
        for at, key in enumerate(members):
            if at and key in matter.turns:
                yield key, members[:at]


def _mean(links: Sequence[Link]) -> float | None:
    return fmean(link.weight for link in links) if links else None
