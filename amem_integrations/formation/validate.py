"""Model output is a proposal: what of it is applied to notes, and what is dropped and why.

Pure functions. Ids that were not offered, self links, repetitions and overlong lists are
dropped and counted. No proposal can name content, so none can change it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from amem_integrations.core.analysis import Evolution, Judgement, LinkProposal, Understanding
from amem_integrations.core.engine import Point
from amem_integrations.core.note import (
    CONTRADICTS,
    MAX_CONTEXT_CHARS,
    MAX_KEYWORDS,
    MAX_TAGS,
    Link,
    Note,
    Status,
    clean_terms,
    clean_text,
)
from amem_integrations.formation.state import ReadRef, Settings
from amem_integrations.revisions.change import (
    MAX_REASON_CHARS,
    revised,
    revision_points,
    understood_anew,
)
from amem_integrations.revisions.contradiction import contradicted
from amem_integrations.revisions.proposals import Proposal, must_wait, proposal_point

MAX_LINKS = 16

Tally = Counter[str]


def understood(note: Note, proposal: Understanding) -> Note:
    """The note with what was understood of it."""
    return note.evolve(
        keywords=clean_terms(proposal.keywords, MAX_KEYWORDS),
        tags=clean_terms(proposal.tags, MAX_TAGS),
        context=clean_text(proposal.context, MAX_CONTEXT_CHARS),
    )


def accepted_links(
    note: Note,
    proposals: Sequence[LinkProposal],
    offered: Collection[str],
    present: Collection[str],
    now: datetime,
    tally: Tally,
    shares: Mapping[str, float] = MappingProxyType({}),
) -> tuple[Link, ...]:
    """Links to candidates that were offered and still exist, at most MAX_LINKS.

    shares: by target, what the proposed weight is multiplied with.
    """
    links: dict[str, Link] = {}
    for proposal in proposals:
        reason = _refusal(proposal.to, note, offered, present)
        if reason is None and proposal.to in links:
            reason = "repeated"
        if reason is None and len(links) == MAX_LINKS:
            reason = "too_many"
        if reason is not None:
            tally[f"dropped.link.{reason}"] += 1
            continue
        links[proposal.to] = Link(
            source=note.id,
            to=proposal.to,
            reason=clean_text(proposal.reason, MAX_REASON_CHARS),
            kind=clean_text(proposal.kind, 40) or "related",
            # Four places: the engine does not keep every digit of a float.
            weight=round(min(1.0, max(0.01, proposal.weight * shares.get(proposal.to, 1.0))), 4),
            created_at=now,
        )
    return tuple(links.values())


def accepted_evolutions(
    note: Note,
    proposals: Sequence[Evolution],
    offered: Collection[str],
    present: Collection[str],
    tally: Tally,
) -> dict[str, Evolution]:
    """Evolutions of candidates that were offered and still exist, one each."""
    accepted: dict[str, Evolution] = {}
    for proposal in proposals:
        reason = _refusal(proposal.note_id, note, offered, present)
        if reason is None and proposal.note_id in accepted:
            reason = "repeated"
        if reason is not None:
            tally[f"dropped.evolution.{reason}"] += 1
            continue
        accepted[proposal.note_id] = proposal
    return accepted


def _refusal(
    target: str, note: Note, offered: Collection[str], present: Collection[str]
) -> str | None:
    if target == note.id:
        return "self"
    if target not in offered:
        return "not_offered"
    if target not in present:
        return "gone"
    return None


# -- what a note brings about ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """What was proposed for a note, by whom, and which notes were read for it.

    sources: those of `read` whose text may be in the proposals.
    """

    proposed: Judgement
    analyst: str
    read: Mapping[str, ReadRef]
    sources: tuple[str, ...]

    def offered(self, note: Note, present: Mapping[str, Note]) -> set[str]:
        """What the note may link to and change: links lead from new to old (paper §3.2)."""
        return {
            id for id in self.read if id not in present or present[id].created_at < note.created_at
        }


@dataclass(frozen=True, slots=True)
class Changes:
    """What a formed note changes in others.

    notes: the others, as they become. new: points to add. evolutions: how many evolve.
    """

    notes: tuple[Note, ...] = ()
    new: tuple[Point, ...] = ()
    evolutions: int = 0


def formed_note(
    note: Note,
    judged: Judged,
    present: Mapping[str, Note],
    now: datetime,
    tally: Tally,
    shares: Mapping[str, float],
) -> Note:
    """The note with its understanding and the accepted links."""
    offered = judged.offered(note, present)
    links = accepted_links(note, judged.proposed.links, offered, present, now, tally, shares)
    # A link that `add_turn` made outranks what else may be said of the same note.
    linked = {link.to for link in note.outgoing}
    formed = understood(note, judged.proposed.understanding).evolve(
        links=(*note.outgoing, *(link for link in links if link.to not in linked)),
        status=Status.FORMED,
        last_error=None,
    )
    return revised(note, formed, "formed", note.id, now, judged.analyst, judged.sources)


def changes_by(
    settings: Settings,
    note: Note,
    judged: Judged,
    present: Mapping[str, Note],
    now: datetime,
    tally: Tally,
    linked_before: Collection[str] = (),
) -> Changes:
    """What the formed note changes in the notes that are `present`.

    linked_before: the notes that it was linked to before it was formed.
    """
    offered = judged.offered(note, present)
    evolutions = accepted_evolutions(note, judged.proposed.evolutions, offered, present, tally)
    for id in list(evolutions):
        if present[id].status is not Status.FORMED:
            tally["dropped.evolution.not_formed"] += 1
            del evolutions[id]
    contradictions = _contradictions(settings, note, judged, present, linked_before)
    changed: list[Note] = []
    new: list[Point] = []
    evolving = 0
    for id in dict.fromkeys((*evolutions, *contradictions)):
        target, evolution = present[id], evolutions.get(id)
        if must_wait(settings.believe, settings.trust_gap, note, target):
            tally["evolution.waits"] += 1
            waiting = Proposal(
                note.namespace,
                note.id,
                id,
                evolution,
                id in contradictions,
                judged.read[id]["version"],
                now,
                judged.analyst,
                judged.sources,
                contradictions.get(id, ""),
            )
            new.append(proposal_point(waiting))
            continue
        after = target
        if evolution is not None:
            same = target.version == judged.read[id]["version"]
            trust = 1.0 if settings.believe is None else settings.believe(note)
            after = understood_anew(
                target,
                note,
                evolution,
                now,
                judged.analyst,
                judged.sources,
                same=same,
                trust=trust,
            )
            tally["evolution.merged"] += not same
            tally["evolution.kept_as_is"] += after is target
            evolving += after is not target
        if id in contradictions:
            if after is not target:
                new += revision_points([after])
            after = contradicted(
                after,
                note,
                now,
                judged.analyst,
                settled=False,
                sources=judged.sources,
                reason=contradictions[id],
            )
        if after is not target:
            changed.append(after)
    return Changes(tuple(changed), tuple(new), evolving)


def _contradictions(
    settings: Settings,
    note: Note,
    judged: Judged,
    present: Mapping[str, Note],
    linked_before: Collection[str],
) -> dict[str, str]:
    """The notes that the formed note contradicts, with the reasons."""
    if settings.believe is None:
        return {}
    proposed = {link.to for link in judged.proposed.links if link.kind == CONTRADICTS}
    return {
        link.to: link.reason
        for link in note.outgoing
        if link.kind == CONTRADICTS
        and link.to in proposed.intersection(present).difference(linked_before)
        and note.id not in present[link.to].contested_by
    }
