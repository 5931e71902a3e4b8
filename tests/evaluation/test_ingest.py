"""A dataset in a memory: one namespace a conversation, one note a turn."""

from pathlib import Path

from amem_integrations.evaluation.dataset import Dataset
from amem_integrations.evaluation.ingest import Filled, fill
from amem_integrations.evaluation.questions import QuestionEmbedder
from amem_integrations.evaluation.reading import read_dataset
from tests.evaluation.samples import beam, written
from tests.support import chat_model, open_memory


def test_each_conversation_has_a_namespace_of_its_own(
    filled: tuple[Filled, QuestionEmbedder],
) -> None:
    memory, (boat, garden) = filled[0].memory, filled[0].dataset.conversations
    assert memory.count(filled[0].home(boat)) == 4
    assert memory.count(filled[0].home(garden)) == 3
    assert memory.count() == 7


def test_a_note_is_its_turn(filled: tuple[Filled, QuestionEmbedder]) -> None:
    boat = filled[0].dataset.conversations[0]
    notes = filled[0].memory.recent(namespace=filled[0].home(boat))
    by_key = {note.key: note for note in notes}
    assert set(by_key) == {turn.id for turn in boat.turns}
    for place, turn in enumerate(boat.turns):
        note = by_key[turn.id]
        assert note.content == turn.text
        assert (note.speaker, note.session, note.sequence) == (turn.speaker, "1", place)
        assert note.occurred_at == turn.time


def test_where_nobody_has_a_name_the_role_speaks(tmp_path: Path) -> None:
    dataset = read_dataset(written(tmp_path / "a.json", beam()))
    with open_memory(formation="off") as memory:
        filled = fill(memory, dataset)
        notes = memory.recent(namespace=filled.home(dataset.conversations[0]))
    assert {(note.key, note.speaker) for note in notes} == {
        ("0", "user"),
        ("1", "assistant"),
        ("2", "user"),
    }
    assert {note.metadata["role"] for note in notes} == {"user", "assistant"}


def test_progress_counts_the_turns_of_all_conversations(dataset: Dataset) -> None:
    seen: list[tuple[int, int]] = []
    with open_memory(formation="off") as memory:
        fill(memory, dataset, lambda done, total: seen.append((done, total)))
    assert seen == [(done, 7) for done in range(1, 8)]


def test_notes_are_formed_as_the_memory_forms(dataset: Dataset) -> None:
    for settings, expected in (
        ({"formation": "off"}, {"raw": 7}),
        ({}, {"formed": 7}),
        ({"model": chat_model()}, {"formed": 7}),
    ):
        with open_memory(**settings) as memory:
            assert fill(memory, dataset).counts() == expected


def test_filling_again_adds_nothing(dataset: Dataset, tmp_path: Path) -> None:
    for _ in range(2):
        with open_memory(tmp_path / "memory") as memory:
            fill(memory, dataset)
            assert memory.count() == 7


def test_differently_formed_notes_do_not_share_a_namespace(
    dataset: Dataset, tmp_path: Path
) -> None:
    for formation in ("off", "inline"):
        with open_memory(tmp_path / "memory", formation=formation) as memory:
            counts = fill(memory, dataset).counts()
    assert counts == {"formed": 7}
