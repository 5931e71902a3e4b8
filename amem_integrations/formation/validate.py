"""Model output is a proposal: what of it is applied to notes, and what is dropped and why.

Pure functions. Ids that were not offered, self links, repetitions and overlong lists are
dropped and counted. No proposal can name content, so none can change it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from amem_integrations.analysts import words
from amem_integrations.analysts.answers import MAX_QUESTIONS
from amem_integrations.analysts.statements import same_voice
from amem_integrations.core.analysis import (
    BY_STATISTICS,
    Evolution,
    Judgement,
    LinkProposal,
    Understanding,
)
from amem_integrations.core.engine import Point
from amem_integrations.core.note import CONTRADICTS, OPPOSING, Link, Note, Status, clean_text
from amem_integrations.formation.state import ReadRef, Settings
from amem_integrations.revisions.change import (
    MAX_REASON_CHARS,
    revised,
    revision_points,
    understanding_fields,
    understood_anew,
)
from amem_integrations.revisions.contradiction import contradicted
from amem_integrations.revisions.proposals import Proposal, must_wait, proposal_point

MAX_LINKS = 16

Tally: TypeAlias = Counter[str]
"""How often each reason to drop or change a proposal applied."""

P = TypeVar("P")


def understood(note: Note, proposal: Understanding, tally: Tally | None = None) -> Note:
    """The note with what was understood of it."""
    read = note.evolve(**understanding_fields(proposal))
    return read.evolve(questions=_own_questions(read, Tally() if tally is None else tally))


def _own_questions(note: Note, tally: Tally) -> tuple[str, ...]:
    """The questions that are in the language of the note's text and have a word of the note."""
    if not note.questions:
        return ()
    terms = (note.speaker or "", note.context, *note.keywords)
    own = words.telling(note.content) | words.telling("\n".join(terms))
    kept: list[str] = []
    for question in note.questions:
        if _is_translated(question, note.content):
            reason = "other_language"
        elif own.isdisjoint(words.telling(question)):
            reason = "elsewhere"
        elif len(kept) == MAX_QUESTIONS:
            reason = "too_many"
        else:
            kept.append(question)
            continue
        tally[f"dropped.question.{reason}"] += 1
    return tuple(kept)


def _is_translated(question: str, text: str) -> bool:
    """Whether a question is in another language than the text, as far as that can be seen."""
    letters = [sign for sign in text[:1000] if sign.isalpha()]
    script = _script(question)
    if letters and script != _script(text):
        # Names in Latin letters do not make a text English.
        return script == "LATIN" or script not in map(_script, letters)
    languages = {words.language(question), words.language(text)} - {None}
    return len(languages) > 1


def _script(text: str) -> str:
    script = words.script(text)
    return "CJK" if script in ("HIRAGANA", "KATAKANA") or words.is_chinese(text) else script


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
    pairs = [(proposal.to, proposal) for proposal in proposals]
    accepted = _accepted("link", pairs, note, offered, present, tally, most=MAX_LINKS)
    return tuple(
        Link(
            source=note.id,
            to=to,
            reason=clean_text(proposal.reason, MAX_REASON_CHARS),
            kind=clean_text(proposal.kind, 40) or "related",
            # Four places: the engine does not keep every digit of a float.
            weight=round(min(1.0, max(0.01, proposal.weight * shares.get(to, 1.0))), 4),
            created_at=now,
        )
        for to, proposal in accepted.items()
    )


def accepted_evolutions(
    note: Note,
    proposals: Sequence[Evolution],
    offered: Collection[str],
    present: Collection[str],
    tally: Tally,
) -> dict[str, Evolution]:
    """Evolutions of candidates that were offered and still exist, one each."""
    pairs = [(proposal.note_id, proposal) for proposal in proposals]
    return _accepted("evolution", pairs, note, offered, present, tally)


def _accepted(
    kind: str,
    proposals: Sequence[tuple[str, P]],
    note: Note,
    offered: Collection[str],
    present: Collection[str],
    tally: Tally,
    *,
    most: int | None = None,
) -> dict[str, P]:
    """The proposals by target, each the first of its target; the others are counted by reason."""
    accepted: dict[str, P] = {}
    for target, proposal in proposals:
        if target == note.id:
            reason = "self"
        elif target not in offered:
            reason = "not_offered"
        elif target not in present:
            reason = "gone"
        elif target in accepted:
            reason = "repeated"
        elif len(accepted) == most:
            reason = "too_many"
        else:
            accepted[target] = proposal
            continue
        tally[f"dropped.{kind}.{reason}"] += 1
    return accepted


# -- what a note brings about ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proposals:
    """What was proposed for a note, by whom, and which notes were read for it.

    sources: those of `read` whose text may be in the proposals.
    """

    judgement: Judgement
    analyst: str
    read: Mapping[str, ReadRef]
    sources: tuple[str, ...]

    def offered(self, note: Note, present: Mapping[str, Note]) -> set[str]:
        """What the note may link to and change: links lead from new to old (paper §3.2).

        A skipped turn is read for context only.
        """
        return {id for id in self.read if id not in present or _is_older(present[id], note)}


def _is_older(other: Note, note: Note) -> bool:
    return other.created_at < note.created_at and other.status is not Status.SKIPPED


@dataclass(frozen=True, slots=True)
class Changes:
    """What a formed note changes in others.

    notes: the others, as they become. new: points to add. evolutions: how many evolve.
    """

    notes: tuple[Note, ...] = ()
    new: tuple[Point, ...] = ()
    evolutions: int = 0


def formed_note(
    settings: Settings,
    note: Note,
    proposals: Proposals,
    present: Mapping[str, Note],
    now: datetime,
    tally: Tally,
    shares: Mapping[str, float],
) -> Note:
    """The note with its understanding and the accepted links.

    A note of somebody else that it contradicts contests it in turn.
    """
    offered = proposals.offered(note, present)
    links = accepted_links(note, proposals.judgement.links, offered, present, now, tally, shares)
    # A link that `add_turn` made outranks what else may be said of the same note.
    linked = {link.to for link in note.outgoing}
    formed = (
        note
        if _is_understood(note, proposals.analyst)
        else understood(note, proposals.judgement.understanding, tally)
    )
    formed = formed.evolve(
        links=(*note.outgoing, *(link for link in links if link.to not in linked)),
        status=Status.FORMED,
        last_error=None,
    )
    formed = replace(formed, contested_by=_contested_by(settings, note, formed, present))
    return revised(note, formed, "formed", note.id, now, proposals.analyst, proposals.sources)


def _contested_by(
    settings: Settings, note: Note, formed: Note, present: Mapping[str, Note]
) -> tuple[str, ...]:
    """Return the ids of the notes that contest a formed note, as it contests them.

    Somebody else said them; one's own older word is outdated, and contests nothing. What a caller
    let supersede is settled.
    """
    if settings.believe is None:
        return note.contested_by
    settled = {link.to for link in note.outgoing if link.kind == CONTRADICTS}
    against = (
        present[link.to]
        for link in formed.outgoing
        if link.kind in OPPOSING and link.to in present.keys() - settled
    )
    others = (
        old.id
        for old in against
        if not same_voice(old, note)
        and not must_wait(settings.believe, settings.trust_gap, note, old)
    )
    return tuple(dict.fromkeys((*note.contested_by, *others)))


def _is_understood(note: Note, analyst: str) -> bool:
    """Return whether an undoing has brought back what statistics understood of the same text.

    It is as true as before, and has what later notes added, which are not formed again.
    """
    by_statistics = analyst.split("/")[0] == BY_STATISTICS
    undone = note.revision is not None and note.revision.kind == "reverted"
    return by_statistics and undone and bool(note.keywords)


def changes_by(
    settings: Settings,
    note: Note,
    proposals: Proposals,
    present: Mapping[str, Note],
    now: datetime,
    tally: Tally,
    linked_before: Collection[str],
) -> Changes:
    """What the formed note changes in the notes that are `present`.

    linked_before: the notes that it was linked to before it was formed.
    """
    analyst, sources = proposals.analyst, proposals.sources
    offered = proposals.offered(note, present)
    evolutions = accepted_evolutions(note, proposals.judgement.evolutions, offered, present, tally)
    for id in list(evolutions):
        if present[id].status is not Status.FORMED:
            tally["dropped.evolution.not_formed"] += 1
            del evolutions[id]
    contradictions = _contradictions(settings, note, proposals, present, linked_before)
    trust = 1.0 if settings.believe is None else settings.believe(note)
    changed: list[Note] = []
    new: list[Point] = []
    evolving = 0
    for id in dict.fromkeys((*evolutions, *contradictions)):
        target, evolution, reason = present[id], evolutions.get(id), contradictions.get(id)
        read_at = proposals.read[id]["version"]
        if must_wait(settings.believe, settings.trust_gap, note, target):
            tally["evolution.waits"] += 1
            waiting = Proposal(
                note.namespace,
                note.id,
                id,
                evolution,
                reason is not None,
                read_at,
                now,
                analyst,
                sources,
                reason or "",
            )
            new.append(proposal_point(waiting))
            continue
        after = target
        if evolution is not None:
            same = target.version == read_at
            after = understood_anew(
                target, note, evolution, now, analyst, sources, same=same, trust=trust
            )
            tally["evolution.merged"] += not same
            tally["evolution.kept_as_is"] += after is target
            evolving += after is not target
        if reason is not None:
            if after is not target:
                new += revision_points([after])
            after = contradicted(
                after, note, now, analyst, settled=False, sources=sources, reason=reason
            )
        if after is not target:
            changed.append(after)
    return Changes(tuple(changed), tuple(new), evolving)


def _contradictions(
    settings: Settings,
    note: Note,
    proposals: Proposals,
    present: Mapping[str, Note],
    linked_before: Collection[str],
) -> dict[str, str]:
    """The notes that the formed note contradicts, with the reasons."""
    if settings.believe is None:
        return {}
    contradicted = {link.to for link in proposals.judgement.links if link.kind == CONTRADICTS}
    return {
        link.to: link.reason
        for link in note.outgoing
        if link.kind == CONTRADICTS
        and link.to in contradicted.intersection(present).difference(linked_before)
        and note.id not in present[link.to].contested_by
    }
