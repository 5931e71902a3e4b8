"""A dataset in a memory, asked its questions and timed, and the dense baseline."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from amem_integrations.core.engine import Vector
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.recall import (
    Filled,
    QuestionEmbedder,
    Setup,
    ask,
    ask_baseline,
    fill,
    timed,
)
from amem_integrations.evaluation.vectors import DenseBaseline, stored_text
from amem_integrations.recall.signals import RecallOptions
from amem_integrations.testing import HashEmbedder
from tests.evaluation.samples import beam, written
from tests.support import open_memory

Held = tuple[Filled, QuestionEmbedder]


def test_a_note_is_its_turn_in_the_namespace_of_its_conversation(filled: Held) -> None:
    memory, (boat, garden) = filled[0].memory, filled[0].dataset.conversations
    assert (memory.count(filled[0].home(garden)), memory.count()) == (3, 7)
    by_key = {note.key: note for note in memory.recent(namespace=filled[0].home(boat))}
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


def test_filling_counts_turns_forms_as_the_memory_does_and_adds_nothing_twice(
    dataset: Dataset, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    for formation, counts in (("off", {"raw": 7}), ("inline", {"formed": 7})):
        for _ in range(2):
            with open_memory(tmp_path / "memory", formation=formation) as memory:
                filled = fill(memory, dataset, lambda done, total: seen.append((done, total)))
                # Differently formed notes share no namespace.
                assert filled.counts() == counts
    assert seen[:7] == [(done, 7) for done in range(1, 8)]


class Counting(HashEmbedder):
    asked = 0

    def embed_query(self, text: str) -> Vector:
        self.asked += 1
        return super().embed_query(text)


def test_a_question_is_embedded_once() -> None:
    inner = Counting()
    _, questions = timed(inner)
    before = inner.asked
    assert questions.embed_query("why?") == questions.embed_query("why?")
    assert inner.asked == before + 1
    assert len(questions.seconds) == 1


async def test_a_memory_sees_the_embedder_that_was_meant() -> None:
    named, questions = timed(HashEmbedder(64))
    assert (named.name, named.dimension) == ("hash-64", 64)
    assert await named.aembed_query("a kiln") == named.embed_query("a kiln")
    assert await questions.aembed_documents(["a kiln"]) == named.embed_documents(["a kiln"])


def test_the_evidence_of_each_question_has_its_rank_within_k(filled: Held) -> None:
    seen: list[tuple[int, int]] = []
    run = ask(filled[0], Setup(), filled[1], k=10, progress=lambda *at: seen.append(at))
    assert run.name == "amem"
    assert [len(ranks) for ranks in run.ranks] == [1, 2, 1]
    assert all(rank is not None and rank <= 4 for ranks in run.ranks for rank in ranks)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    first = ask(filled[0], Setup(), filled[1], k=1)
    assert {rank for ranks in first.ranks for rank in ranks} == {1, None}


def test_options_reach_the_search(filled: Held) -> None:
    held, questions = filled
    boat = held.dataset.conversations[0]
    # No word of it is in the turn about the sailmaker.
    strange = replace(boat.questions[1], evidence=("t2",))
    dataset = replace(held.dataset, conversations=(replace(boat, questions=(strange,)),))
    asked = Filled(held.memory, dataset, 0.0)
    meaning = ask(asked, Setup(RecallOptions(words=0), 0), questions, k=10)
    only_words = RecallOptions(meaning=0, reply=0, expand_best=0)
    words = ask(asked, Setup(only_words, 0), questions, k=10)
    assert words.ranks == ((None,),)
    assert meaning.ranks != words.ranks


def test_recall_is_as_of_when_the_question_was_asked(filled: Held) -> None:
    held, questions = filled
    boat = held.dataset.conversations[0]
    early = replace(boat.questions[0], asked_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    dataset = replace(held.dataset, conversations=(replace(boat, questions=(early,)),))
    run = ask(Filled(held.memory, dataset, 0.0), Setup(), questions, k=10)
    assert run.ranks == ((None,),)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow(HashEmbedder):
    """Takes a second by the clock that times searches."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def embed_query(self, text: str) -> Vector:
        self._clock.now += 1.0
        return super().embed_query(text)


def test_the_baseline_is_a_run_whose_times_leave_out_embedding_the_question(
    filled: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    _, slow = timed(Slow(clock))
    monkeypatch.setattr("amem_integrations.evaluation.recall.time.perf_counter", clock)
    run = ask_baseline(filled[0].dataset, slow, k=10)
    assert run.name == "amem-dense"
    assert [len(ranks) for ranks in run.ranks] == [1, 2, 1]
    assert run.ranks[0] == (1,)
    assert slow.seconds == [1.0, 1.0, 1.0]
    assert run.milliseconds == (0.0, 0.0, 0.0)


# Texts as directions in the plane; lengths must not matter.
WAYS = {"east": [9.0, 0.0], "north": [0.0, 0.1], "between": [3.0, 1.0], "?": [0.5, 0.0]}


class Compass(HashEmbedder):
    def embed_query(self, text: str) -> Vector:
        return WAYS[text]


TURNS = tuple(
    Turn(text, text, time=datetime(2026, 1, day, tzinfo=UTC))
    for day, text in enumerate(("north", "between", "east"), 1)
)
QUESTION = Question("?", ("east",), "all")


def test_turns_come_by_cosine_without_those_after_the_question() -> None:
    conversation = Conversation("c", TURNS, (QUESTION,))
    baseline = DenseBaseline(Compass(2), [conversation])
    assert baseline(conversation, QUESTION, 3) == ["east", "between", "north"]
    assert baseline(conversation, QUESTION, 1) == ["east"]
    asked = replace(QUESTION, asked_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert baseline(conversation, asked, 3) == ["between", "north"]
    twins = Conversation("c", tuple(Turn(id, "east") for id in "ba"), (QUESTION,))
    assert DenseBaseline(Compass(2), [twins])(twins, QUESTION, 2) == ["b", "a"]


def test_a_turn_is_stored_as_a_mem_s_own_evaluation_does() -> None:
    assert stored_text(Turn("1", "Ahoy", "Nora")) == "Speaker Nora says : Ahoy"
    assert stored_text(Turn("1", "Ahoy", role="user")) == "Speaker user says : Ahoy"
    assert stored_text(Turn("1", "Ahoy")) == "Ahoy"
