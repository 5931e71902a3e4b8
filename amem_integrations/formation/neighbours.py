"""What a forming note changes in older ones: how they are understood, until when they held.

Pure. What is proposed by a note that is believed much less than its target waits, where the
memory keeps account of that; what is applied caps the target's trust. `commit` writes all of it
with the note.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from amem_integrations.core.analysis import Evolution, Judgement
from amem_integrations.core.io import Point
from amem_integrations.core.note import CONTRADICTS, Note, Status, clean_text
from amem_integrations.formation.state import ReadRef, Settings
from amem_integrations.formation.validate import (
    MAX_REASON_CHARS,
    Tally,
    accepted_evolutions,
    evolved,
    merged,
)
from amem_integrations.revisions.change import revised, revision_points
from amem_integrations.revisions.contradiction import contradicted
from amem_integrations.revisions.proposals import Proposal, must_wait, proposal_point


@dataclass(frozen=True, slots=True)
class Judged:
    """What was proposed for a note, by whom, and in the light of which notes.

    sources: those of `read` whose text may be in the proposals.
    """

    proposed: Judgement
    analyst: str
    read: Mapping[str, ReadRef]
    sources: tuple[str, ...]

    def offered(self, note: Note, present: Mapping[str, Note]) -> set[str]:
        """What the note may link to, and change: links lead from new to old (paper §3.2)."""
        return {
            id for id in self.read if id not in present or present[id].created_at < note.created_at
        }


@dataclass(frozen=True, slots=True)
class Others:
    """writes: the neighbours that change, as they become. new: points that come with them.

    evolutions: how many are understood differently.
    """

    writes: tuple[Note, ...] = ()
    new: tuple[Point, ...] = ()
    evolutions: int = 0


def changed(
    settings: Settings,
    note: Note,
    judged: Judged,
    present: Mapping[str, Note],
    now: datetime,
    tally: Tally,
    linked_before: Collection[str] = (),
) -> Others:
    """What the formed note changes in `present`; one that is to stay as it is, is not written.

    linked_before: the notes that it was linked to before it was formed, which is settled.
    """
    offered = judged.offered(note, present)
    evolutions = accepted_evolutions(note, judged.proposed.evolutions, offered, present, tally)
    for id in list(evolutions):
        if present[id].status is not Status.FORMED:
            tally["dropped.evolution.not_formed"] += 1
            del evolutions[id]
    said = {each.to for each in judged.proposed.links if each.kind == CONTRADICTS}
    contradicts = {
        link.to: link.reason
        for link in note.outgoing
        if settings.believe is not None
        and link.kind == CONTRADICTS
        and link.to in said.intersection(present).difference(linked_before)
        and note.id not in present[link.to].contested_by
    }
    writes: list[Note] = []
    new: list[Point] = []
    evolving = 0
    for id in dict.fromkeys((*evolutions, *contradicts)):
        target, evolution = present[id], evolutions.get(id)
        if must_wait(settings.believe, settings.trust_gap, note, target):
            tally["evolution.waits"] += 1
            new.append(
                proposal_point(
                    Proposal(
                        note.namespace,
                        note.id,
                        id,
                        evolution,
                        id in contradicts,
                        judged.read[id]["version"],
                        now,
                        judged.analyst,
                        judged.sources,
                        contradicts.get(id, ""),
                    )
                )
            )
            continue
        after = target
        if evolution is not None:
            same = target.version == judged.read[id]["version"]
            tally["evolution.merged"] += not same
            after = understood_anew(
                target,
                note,
                evolution,
                now,
                judged.analyst,
                judged.sources,
                same=same,
                trust=1.0 if settings.believe is None else settings.believe(note),
            )
            if after is target:
                tally["evolution.kept_as_is"] += 1
            else:
                evolving += 1
        if id in contradicts:
            between = after
            after = contradicted(
                after,
                note,
                now,
                judged.analyst,
                settled=False,
                sources=judged.sources,
                reason=contradicts[id],
            )
            if between is not target:
                new += revision_points([between])
        if after is not target:
            writes.append(after)
    return Others(tuple(writes), tuple(new), evolving)


def understood_anew(
    target: Note,
    by: Note,
    proposal: Evolution,
    now: datetime,
    analyst: str,
    sources: Collection[str],
    *,
    same: bool,
    trust: float,
) -> Note:
    """`target` evolved in the light of `by`; itself if nothing of it changes.

    same: whether it still is as it was when that was proposed; else the terms are only added.
    trust: how far `by` is believed, which what is understood now is at most.
    """
    after = evolved(target, proposal) if same else merged(target, proposal)
    if after == target:
        return target
    return revised(
        target,
        # Four places: the engine does not keep every digit of a float.
        replace(after, trust=min(target.trust, round(trust, 4))),
        "evolved",
        by.id,
        now,
        analyst,
        tuple(id for id in sources if id != target.id),
        clean_text(proposal.reason, MAX_REASON_CHARS),
    )
