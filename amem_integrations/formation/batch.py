"""The batched judgement: one question serves several new notes, their candidates shown once.

A note for which that fails is judged alone, as in the fused mode.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from amem_integrations.analysts.prompts import SUBJECT_CHARS
from amem_integrations.core.analysis import Judgement, Subject
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.errors import AnalysisError
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    ReadRef,
    RunContext,
    Settings,
    namespace_of,
    open_ids,
    read_ref,
)
from amem_integrations.formation.steps import (
    is_about_the_question,
    judge_alone,
    metered,
    proposed,
    settled,
    subject_of,
)

BATCH_CHARS = 8000
"""How much text of new notes one question shows, about; beyond it comes another question."""

# What one note may have brought about, or too many: alone, the others can be judged.
_SPLIT = ("unparsable", "empty", "refusal", "content-filter", "too-long", "bad-request")

Answers: TypeAlias = dict[str, Judgement | AnalysisError]


async def batch(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Propose everything for every open note, in as few questions as `settings.batch` allows.

    A note that may have spoilt a question before is judged alone, so that it does so once.
    """
    notes = await context.load(io, open_ids(state), namespace_of(state))
    groups = list(_groups([n for n in notes.values() if not _spoilt(n)], settings.batch))
    tried = [[note] for note in notes.values() if _spoilt(note)]
    settings.ledger.count("batch.tried_before", len(tried))
    found = await io.gather(
        *(_judge(io, settings, state, context, group) for group in [*groups, *tried])
    )
    answers = {id: answer for each, _ in found for id, answer in each.items()}
    batched = {id: refs for _, read in found for id, refs in read.items()}
    judged, outcomes = await settled(io, settings, state, answers)
    return {**proposed(settings, judged), "batched": batched, "outcomes": outcomes}


def _spoilt(note: Note) -> bool:
    """Whether a question about it failed for what was asked, and not because of an outage."""
    return note.attempts > 0 and is_about_the_question(note.last_error or "")


def _groups(notes: Sequence[Note], most: int) -> Iterator[list[Note]]:
    """The notes in order, at most so many in a group, and not more text than BATCH_CHARS."""
    group: list[Note] = []
    chars = 0
    for note in notes:
        shown = min(len(note.content), SUBJECT_CHARS)
        if group and (len(group) == most or chars + shown > BATCH_CHARS):
            yield group
            group, chars = [], 0
        group.append(note)
        chars += shown
    if group:
        yield group


async def _judge(
    io: IO,
    settings: Settings,
    state: FormationState,
    context: RunContext,
    group: Sequence[Note],
) -> tuple[Answers, dict[str, list[ReadRef]]]:
    """The answers for a group, and what was read for those that were judged together."""
    fuse = settings.analyst.fuse
    if len(group) == 1:
        return await judge_alone(io, settings, state, context, group, fuse, "fused"), {}
    # Opened first: what is forgotten from here on is not counted.
    account = settings.ledger.account(namespace_of(state), settings.mode)
    if not settings.analyst.needs_statistics:
        candidates = state.get("candidates", {})
        shown = {ref["id"] for note in group for ref in candidates.get(note.id, ())}
        shown.update(note.id for note in group)
        await context.refresh(io, sorted(shown), namespace_of(state))
        here = await context.load(io, [note.id for note in group], namespace_of(state))
        group = list(here.values())
        if not group:
            return {}, {}
    subjects, read = await _subjects(io, settings, state, context, group)
    try:
        found = await settings.analyst.batch(metered(io, account), subjects)
    except AnalysisError as error:
        if error.reason not in _SPLIT:
            return {note.id: error for note in group}, {}
        settings.ledger.count("batch.split")
        return await judge_alone(io, settings, state, context, group, fuse, "fused"), {}
    answers: Answers = {note.id: answer for note, answer in zip(group, found, strict=True)}
    left_out = [note for note in group if isinstance(answers[note.id], AnalysisError)]
    settings.ledger.count("batch.left_out", len(left_out))
    for note in left_out:
        del read[note.id]
    alone = await judge_alone(io, settings, state, context, left_out, fuse, "fused")
    return answers | alone, read


async def _subjects(
    io: IO,
    settings: Settings,
    state: FormationState,
    context: RunContext,
    group: Sequence[Note],
) -> tuple[list[Subject], dict[str, list[ReadRef]]]:
    """The subjects of one question, and what can be read there besides each of them."""
    own = {note.id: state.get("candidates", {}).get(note.id, []) for note in group}
    wanted = [ref["id"] for refs in own.values() for ref in refs]
    notes = {note.id: note for note in group}
    notes |= await context.load(io, wanted, namespace_of(state))
    read: dict[str, list[ReadRef]] = {id: [*refs] for id, refs in own.items()}
    if settings.analyst.reads_candidates:
        shared = _shared(group, own, notes, settings.neighbours + len(group))
        shown = shared | {note.id: read_ref(note) for note in group}
        own = {id: [ref for ref in refs if ref["id"] in shown] for id, refs in own.items()}
        read = {id: [ref for other, ref in shown.items() if other != id] for id in own}
    subjects = [
        await subject_of(io, settings, note, own[note.id], notes, context) for note in group
    ]
    return subjects, read


def _shared(
    group: Sequence[Note],
    own: Mapping[str, Sequence[CandidateRef]],
    notes: Mapping[str, Note],
    most: int,
) -> dict[str, ReadRef]:
    """The candidates to be shown: what each note follows on first, then the nearest of each."""
    together = {note.id for note in group}
    before = [_before(note, own[note.id], notes) for note in group]
    older = [[ref for ref in own[note.id] if ref["id"] not in together] for note in group]
    in_turn = itertools.chain(before, *itertools.zip_longest(*older))
    chosen: dict[str, ReadRef] = {}
    for ref in in_turn:
        if ref is not None and ref["id"] in notes and ref["id"] not in together:
            chosen[ref["id"]] = ReadRef(id=ref["id"], version=ref["version"], digest=ref["digest"])
        if len(chosen) == most:
            break
    return chosen


def _before(
    note: Note, refs: Sequence[CandidateRef], notes: Mapping[str, Note]
) -> CandidateRef | None:
    """The last turn of the note's own session among its candidates."""
    said = [
        ref
        for ref in refs
        if note.session is not None
        and ref["id"] in notes
        and notes[ref["id"]].session == note.session
    ]
    return max(said, key=lambda ref: notes[ref["id"]].created_at, default=None)
