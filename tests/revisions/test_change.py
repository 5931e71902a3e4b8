"""A note is changed as it is now, also when somebody changes it between reading and writing."""

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.errors import NoteNotFoundError, StoreError
from amem_integrations.revisions.change import ROUNDS, change_note, revised
from tests.support import again, aio_of, io_of


def marked(note: Note) -> Note:
    after = note.evolve(context=f"{note.context}!")
    return revised(note, after, "updated", note.id, note.updated_at, "caller")


async def test_what_another_did_meanwhile_stays(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache")
    others = ["The redis cache, Tuesday"]

    async def step(held: Note) -> Note:
        if others:
            await memory.aupdate(note, others.pop())
        return marked(held)

    after = await change_note(io_of(memory), note, step, "marked")
    assert after.content == "The redis cache, Tuesday"
    assert again(memory, note).context == after.context


async def test_nothing_to_do_writes_nothing(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache")

    async def step(held: Note) -> Note:
        return held

    assert await change_note(io_of(memory), note, step, "marked") is note
    assert again(memory, note).version == note.version


async def test_a_note_that_is_forgotten_meanwhile_is_named(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache")

    async def step(held: Note) -> Note:
        await memory.aforget(note)
        return marked(held)

    with pytest.raises(NoteNotFoundError, match=f"{note.id} was forgotten while it was being mark"):
        await change_note(io_of(memory), note, step, "marked")


async def test_a_note_that_never_rests_is_given_up(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache")
    tried: list[int] = []

    async def step(held: Note) -> Note:
        tried.append(held.version)
        await memory.aupdate(note, f"The redis cache, {len(tried)}")
        return marked(held)

    with pytest.raises(StoreError, match="kept changing while it was being marked; try again"):
        await change_note(aio_of(memory), note, step, "marked")
    assert len(tried) == ROUNDS
    assert again(memory, note).content == f"The redis cache, {ROUNDS}"
