"""Asking a memory the questions of a dataset."""

import time
from dataclasses import replace
from datetime import UTC, datetime

from amem_integrations.core.io import Vector
from amem_integrations.evaluation.ingest import Filled
from amem_integrations.evaluation.questions import QuestionEmbedder, timed
from amem_integrations.evaluation.recall import Setup, ask, ask_baseline
from amem_integrations.recall.options import RecallOptions
from amem_integrations.testing import HashEmbedder

Held = tuple[Filled, QuestionEmbedder]


def test_the_evidence_of_each_question_has_its_rank(filled: Held) -> None:
    run = ask(filled[0], Setup(), filled[1], k=10)
    assert run.name == "amem"
    assert [len(ranks) for ranks in run.ranks] == [1, 2, 1]
    assert all(rank is not None and rank <= 4 for ranks in run.ranks for rank in ranks)


def test_no_more_than_k_are_looked_at(filled: Held) -> None:
    run = ask(filled[0], Setup(), filled[1], k=1)
    assert {rank for ranks in run.ranks for rank in ranks} <= {1, None}
    assert None in run.ranks[1]


def test_a_run_remembers_what_it_was_set_to(filled: Held) -> None:
    setup = Setup(RecallOptions(words=0), hops=0)
    run = ask(filled[0], setup, filled[1], k=10, name="without words")
    assert (run.name, run.setup) == ("without words", setup)


def test_options_reach_the_search(filled: Held) -> None:
    held, questions = filled
    boat = held.dataset.conversations[0]
    # No word of it is in the turn about the sailmaker.
    strange = replace(boat.questions[1], evidence=("t2",))
    dataset = replace(held.dataset, conversations=(replace(boat, questions=(strange,)),))
    asked = Filled(held.memory, dataset, 0.0)
    meaning = ask(asked, Setup(RecallOptions(words=0), 0), questions, k=10)
    only_words = RecallOptions(meaning=0, reply=0, around=0)
    words = ask(asked, Setup(only_words, 0), questions, k=10)
    assert words.ranks == ((None,),)
    assert meaning.ranks != words.ranks


def test_the_baseline_is_a_run_like_another(filled: Held) -> None:
    run = ask_baseline(filled[0].dataset, filled[1], k=10)
    assert run.name == "amem-dense"
    assert [len(ranks) for ranks in run.ranks] == [1, 2, 1]
    assert run.ranks[0] == (1,)


def test_recall_is_as_of_when_the_question_was_asked(filled: Held) -> None:
    held, questions = filled
    boat = held.dataset.conversations[0]
    early = replace(boat.questions[0], asked_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    dataset = replace(held.dataset, conversations=(replace(boat, questions=(early,)),))
    run = ask(Filled(held.memory, dataset, 0.0), Setup(), questions, k=10)
    assert run.ranks == ((None,),)


class Slow(HashEmbedder):
    def embed_query(self, text: str) -> Vector:
        time.sleep(0.2)
        return super().embed_query(text)


def test_embedding_the_question_is_no_part_of_the_time(filled: Held) -> None:
    held, _ = filled
    _, slow = timed(Slow())
    run = ask_baseline(held.dataset, slow, k=10)
    assert min(slow.seconds) >= 0.2
    assert min(run.milliseconds) < 200


def test_progress_counts_questions(filled: Held) -> None:
    seen: list[tuple[int, int]] = []
    ask(filled[0], Setup(), filled[1], k=5, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]
