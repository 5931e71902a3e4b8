"""Asking a memory the questions of a dataset, in one way or several, and what each way found.

`amem eval recall` calls this; `report` makes numbers of it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from amem_integrations.core.note import Hit
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.ingest import Filled, Progress
from amem_integrations.evaluation.metrics import Ranks, ranks_of
from amem_integrations.evaluation.questions import QuestionEmbedder
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.search import search

__all__ = ["Run", "Setup", "ask", "ask_baseline"]

Recaller = Callable[[Conversation, Question, int], list[str]]
"""The ids of the turns that answer a question, best first, at most that many."""

NAME = "amem"
BASELINE = "amem-dense"
CUTOFFS = (5, 10, 20, 30)


@dataclass(frozen=True, slots=True)
class Setup:
    """A way of asking a memory.

    Attributes:
        options: how signals are weighed.
        hops: how many links are followed.

    Examples:
        >>> from amem_integrations.evaluation.ablation import without
        >>> from amem_integrations.evaluation.recall import Setup
        >>> Setup(without(Setup().options, "date"), hops=0).options.date
        0.0
    """

    options: RecallOptions = DEFAULT_OPTIONS
    hops: int = 1


@dataclass(frozen=True, slots=True)
class Run:
    """One way of recall over all questions.

    Attributes:
        name: what it is called.
        ranks: of each question's evidence, in the order of `Dataset.asked`.
        milliseconds: what each question took, without embedding it.
        setup: None for a baseline.

    Examples:
        >>> from amem_integrations.evaluation.recall import Run
        >>> Run("by hand", ranks=((1, None),), milliseconds=(2.5,)).setup is None
        True
    """

    name: str
    ranks: tuple[Ranks, ...]
    milliseconds: tuple[float, ...]
    setup: Setup | None = None


def ask(
    filled: Filled,
    setup: Setup,
    questions: QuestionEmbedder,
    *,
    k: int,
    name: str = NAME,
    progress: Progress | None = None,
) -> Run:
    """What the package's own search finds.

    Args:
        filled: the memory that is asked, see `fill`.
        setup: how it is asked.
        questions: the part of its embedder that counts, see `timed`.
        k: how many notes a question may have.
        name: what to call the run.
        progress: called as progress(done, total) in questions.

    Raises:
        AMemError: whatever a search raises.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
        >>> from amem_integrations.evaluation.ingest import fill
        >>> from amem_integrations.evaluation.questions import timed
        >>> from amem_integrations.evaluation.recall import Setup, ask
        >>> asked = Question("Which eviction?", ("t1",), "single-hop")
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), (asked,))
        >>> embedder, questions = timed(None)
        >>> with AgenticMemory(embedder=embedder) as memory:
        ...     run = ask(fill(memory, Dataset("mine", (talk,))), Setup(), questions, k=10)
        >>> run.ranks
        ((1,),)
    """

    def recaller(conversation: Conversation, question: Question, k: int) -> list[str]:
        hits = hits_of(filled, setup, conversation, question.text, k=k, at=question.asked_at)
        return [hit.note.key for hit in hits]

    ranks, took = _timed(filled.dataset, recaller, questions, k, progress)
    return Run(name, ranks, took, setup)


def hits_of(
    filled: Filled,
    setup: Setup,
    conversation: Conversation,
    text: str,
    *,
    k: int,
    at: datetime | None = None,
) -> list[Hit]:
    """What a search among the notes of one conversation finds."""
    return filled.memory.perform(
        lambda wiring, io: search(
            io,
            text,
            namespace=filled.home(conversation),
            k=k,
            hops=setup.hops,
            at=at,
            options=setup.options,
        )
    )


def ask_baseline(
    dataset: Dataset,
    questions: QuestionEmbedder,
    *,
    k: int,
    progress: Progress | None = None,
    embedding: Progress | None = None,
) -> Run:
    """What the reference finds: the nearest turns by cosine.

    Args:
        dataset: what is asked about.
        questions: who embeds.
        k: how many turns a question may have.
        progress: called as progress(done, total) in questions.
        embedding: likewise, in turns embedded.

    Raises:
        ModelError: the embedder gives no usable vectors; its own errors pass through.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
        >>> from amem_integrations.evaluation.questions import timed
        >>> from amem_integrations.evaluation.recall import ask_baseline
        >>> asked = Question("Which eviction?", ("t1",), "single-hop")
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), (asked,))
        >>> run = ask_baseline(Dataset("mine", (talk,)), timed(None)[1], k=10)
        >>> run.name, run.ranks
        ('amem-dense', ((1,),))
    """
    # Here, since it imports numpy.
    from amem_integrations.evaluation.dense import DenseBaseline

    recaller = DenseBaseline(questions, dataset, embedding)
    return Run(BASELINE, *_timed(dataset, recaller, questions, k, progress))


def _timed(
    dataset: Dataset,
    recaller: Recaller,
    questions: QuestionEmbedder,
    k: int,
    progress: Progress | None,
) -> tuple[tuple[Ranks, ...], tuple[float, ...]]:
    ranks: list[Ranks] = []
    took: list[float] = []
    asked = dataset.asked
    for conversation, question in asked:
        embedded = len(questions.seconds)
        started = time.perf_counter()
        ranking = recaller(conversation, question, k)
        seconds = time.perf_counter() - started - sum(questions.seconds[embedded:])
        took.append(seconds * 1000)
        ranks.append(ranks_of(question.evidence, ranking))
        if progress is not None:
            progress(len(ranks), len(asked))
    return tuple(ranks), tuple(took)
