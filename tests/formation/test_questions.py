"""The questions that a note answers: kept, found by, changed and forgotten like its context."""

import json
from dataclasses import replace
from typing import Any

from amem_integrations import AgenticMemory
from amem_integrations.analysts.statistical import StatisticalAnalyst
from amem_integrations.core.analysis import Evolution, LinkProposal, Subject
from amem_integrations.core.io import IO
from tests.support import again, chat_model, judgement, open_memory

TEXT = "Yes, the blue one"
ASKED = "Which bicycle did Ada purchase?"


def answers(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    asked = [ASKED] if text == TEXT else []
    return judgement(text, context="Ada bought the blue bicycle.", questions=asked)


def filled(**settings: Any) -> AgenticMemory:
    memory = open_memory(model=chat_model(answers), **settings)
    memory.add_many([f"The kettle number {n}" for n in range(12)])
    return memory


def test_a_note_is_found_by_a_question_that_has_none_of_its_words() -> None:
    for mode in ("fused", "staged", "batched"):
        with filled(mode=mode) as memory:
            note = memory.add(TEXT)
            assert note.questions == (ASKED,)
            (best, *_) = memory.search("purchase of a bicycle")
            assert best.note == again(memory, note)


def test_it_is_found_by_the_meaning_of_a_question_until_that_is_taken_back() -> None:
    with filled() as memory:
        note = memory.add(TEXT)

        def asked() -> list[str]:
            hits = memory.search(ASKED, k=20)
            return [hit.note.id for hit in hits if "asked" in hit.why]

        assert asked() == [note.id]
        memory.update(note, "Something else altogether")
        assert asked() == []
        memory.revert(note, to_version=note.version)
        assert asked() == [note.id]
        memory.forget(note)
        assert asked() == []


def test_missing_vectors_of_questions_are_found_and_repaired() -> None:
    with filled() as memory:
        note = memory.add(TEXT)

        async def lose(_: Any, io: IO) -> None:
            points = await io.engine.get([note.id], vectors=True)
            await io.engine.commit(
                [replace(point, questions=()) for point in points], expect={note.id: {}}
            )

        memory.perform(lose)
        [finding] = memory.admin.check()
        assert (finding.note_id, finding.what) == (note.id, "vectors")
        memory.admin.repair()
        assert memory.admin.check() == []


def test_statistics_ask_nothing() -> None:
    with open_memory() as memory:
        assert memory.add("Ada bought the blue bicycle").questions == ()


def test_questions_are_exported_and_imported() -> None:
    with filled() as memory, open_memory() as other:
        note = memory.add(TEXT, key="bicycle")
        lines = list(memory.admin.export("default"))
        assert ASKED in "".join(lines)
        other.admin.import_(lines)
        found = other.get(key="bicycle")
        assert found is not None
        assert found.questions == note.questions


def test_an_update_takes_them_back_and_a_revert_brings_them_again() -> None:
    with filled() as memory:
        note = memory.add(TEXT)
        memory.update(note, "Something else altogether")
        assert again(memory, note).questions == ()
        memory.revert(note, to_version=note.version)
        assert again(memory, note).questions == (ASKED,)


class Asks(StatisticalAnalyst):
    """Says of a neighbour what the new note asks."""

    reads_candidates = True

    async def evolve(self, io: IO, subject: Subject, links: Any) -> list[Evolution]:
        return [
            Evolution(each.note.id, questions=(f"Is it {subject.note.content}?",))
            for each in subject.candidates
        ]

    async def link(self, io: IO, subject: Subject) -> list[LinkProposal]:
        return []


def test_an_evolution_of_them_goes_with_the_note_that_caused_it() -> None:
    with open_memory(analyst=Asks(), mode="staged") as memory:
        old = memory.add("The redis cache")
        cause = memory.add("Rumpelstiltskin")
        assert again(memory, old).questions == ("Is it Rumpelstiltskin?",)
        assert memory.history(old)[-1].changes["questions"].after == ["Is it Rumpelstiltskin?"]
        memory.forget(cause)
        assert again(memory, old).questions == ()
        assert "Rumpelstiltskin" not in json.dumps(list(memory.admin.export("default")))
