"""The batched analysis: one question serves several new notes, their candidates shown once.

A note for which that fails is analysed alone, as in the fused mode; in the mode "auto", one for
which that fails too is at last asked for what it is about, without links.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from amem_integrations.analysts.plausibility import IMPLAUSIBLE
from amem_integrations.analysts.prompts import SUBJECT_CHARS
from amem_integrations.core.analysis import Judgement, Subject
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.errors import AnalysisError
from amem_integrations.formation.state import CandidateRef, ReadRef, Run, read_ref
from amem_integrations.formation.steps import (
    UNUSABLE,
    ask_each,
    is_about_the_question,
    metered,
    proposals_json,
    sort_answers,
    subject_of,
)

BATCH_CHARS = 8000
"""About how much text of new notes one question shows; the rest goes into another question."""

Answers: TypeAlias = dict[str, Judgement | AnalysisError]
ReadByNote: TypeAlias = dict[str, list[ReadRef]]


async def batch(io: IO, run: Run) -> dict[str, Any]:
    """Propose everything for every open note, in as few questions as `settings.batch` allows.

    A note that may have spoilt a question before is analysed alone, so that it does so once.
    """
    notes = await run.open_notes(io)
    suspects = [note for note in notes if _is_suspect(note)]
    run.settings.ledger.count("batch.tried_before", len(suspects))
    groups = list(_groups([n for n in notes if not _is_suspect(n)], run.settings.batch))
    groups += [[note] for note in suspects]
    answers: Answers = {}
    batched: ReadByNote = {}
    for answered, read in await io.gather(*(_ask_group(io, run, group) for group in groups)):
        answers |= answered
        batched |= read
    found, outcomes = await sort_answers(io, run, answers)
    return {**proposals_json(run, found), "batched": batched, "outcomes": outcomes}


def _is_suspect(note: Note) -> bool:
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


async def _ask_group(io: IO, run: Run, group: Sequence[Note]) -> tuple[Answers, ReadByNote]:
    """The answers for a group, and what was read for those that were analysed together."""
    ledger, analyst = run.settings.ledger, run.settings.analyst
    if len(group) == 1:
        return await _ask_alone(io, run, group), {}
    # Opened first: what is forgotten from here on is not counted.
    account = ledger.account(run.namespace, run.settings.mode)
    if not analyst.needs_statistics:
        ids = {note.id for note in group}
        ids.update(ref["id"] for note in group for ref in run.candidates(note.id))
        await run.context.refresh(io, sorted(ids), run.namespace)
        group = list((await run.load(io, [note.id for note in group])).values())
        if not group:
            return {}, {}
    subjects, read = await _subjects(io, run, group)
    answers: Answers = {}
    try:
        found = await analyst.batch(metered(io, account), subjects)
    except AnalysisError as error:
        if not is_about_the_question(error.reason):
            return {note.id: error for note in group}, {}
        # One note may be the cause, or there are too many; each alone can still be analysed.
        ledger.count("batch.split")
        alone, read = group, {}
    else:
        answers.update((note.id, answer) for note, answer in zip(group, found, strict=True))
        failures = {id: a for id, a in answers.items() if isinstance(a, AnalysisError)}
        alone = [note for note in group if note.id in failures]
        ledger.count("batch.left_out", len(alone))
        ledger.count(
            "formation.implausible", sum(a.reason == IMPLAUSIBLE for a in failures.values())
        )
        for note in alone:
            del read[note.id]
    return answers | await _ask_alone(io, run, alone), read


async def _ask_alone(io: IO, run: Run, notes: Sequence[Note]) -> Answers:
    analyst = run.settings.analyst
    answers = await ask_each(io, run, notes, analyst.fuse, "fused")
    failed = [note for note in notes if _needs_less(answers.get(note.id))]
    if run.settings.mode != "auto" or not failed:
        return answers

    async def understand(io: IO, subject: Subject) -> Judgement:
        return Judgement(await analyst.construct(io, replace(subject, candidates=())))

    run.settings.ledger.count("formation.simplified", len(failed))
    return answers | await ask_each(io, run, failed, understand, "fused")


def _needs_less(answer: Judgement | AnalysisError | None) -> bool:
    """Whether the model could not answer so large a question."""
    return isinstance(answer, AnalysisError) and answer.reason in UNUSABLE


async def _subjects(io: IO, run: Run, group: Sequence[Note]) -> tuple[list[Subject], ReadByNote]:
    """The subjects of one question, and what can be read there besides each of them."""
    own = {note.id: run.candidates(note.id) for note in group}
    notes = {note.id: note for note in group}
    notes |= await run.load(io, [ref["id"] for refs in own.values() for ref in refs])
    read: ReadByNote = {id: [*refs] for id, refs in own.items()}
    if run.settings.analyst.reads_candidates:
        shown = _shared(group, own, notes, run.settings.neighbours + len(group))
        shown |= {note.id: read_ref(note) for note in group}
        own = {id: [ref for ref in refs if ref["id"] in shown] for id, refs in own.items()}
        read = {id: [ref for other, ref in shown.items() if other != id] for id in own}
    return [await subject_of(io, run, note, own[note.id], notes) for note in group], read


def _shared(
    group: Sequence[Note],
    own: Mapping[str, Sequence[CandidateRef]],
    notes: Mapping[str, Note],
    most: int,
) -> dict[str, ReadRef]:
    """The candidates to be shown: what each note follows on first, then the nearest of each."""
    together = {note.id for note in group}
    before = [_turn_before(note, own[note.id], notes) for note in group]
    older = [[ref for ref in own[note.id] if ref["id"] not in together] for note in group]
    in_turn = itertools.chain(before, *itertools.zip_longest(*older))
    chosen = {
        ref["id"]: read_ref(notes[ref["id"]])
        for ref in in_turn
        if ref is not None and ref["id"] in notes and ref["id"] not in together
    }
    return dict(itertools.islice(chosen.items(), most))


def _turn_before(
    note: Note, refs: Sequence[CandidateRef], notes: Mapping[str, Note]
) -> CandidateRef | None:
    """The last turn of the note's own session among its candidates."""
    if note.session is None:
        return None
    ids = {id for id, other in notes.items() if other.session == note.session}
    turns = [ref for ref in refs if ref["id"] in ids]
    return max(turns, key=lambda ref: notes[ref["id"]].created_at, default=None)
