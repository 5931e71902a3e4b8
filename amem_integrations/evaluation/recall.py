"""Recall of a memory: it is filled with a dataset, asked its questions, and timed."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from amem_integrations.core.engine import Vector
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import Embedder
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Status
from amem_integrations.embedders.dense import EmbedderSpec, NamedEmbedder, resolve_embedder
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.metrics import Ranks, ranks_of
from amem_integrations.evaluation.vectors import DenseBaseline, Progress
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import counts
from amem_integrations.recall.search import search
from amem_integrations.recall.signals import DEFAULT_OPTIONS, RecallOptions

__all__ = [
    "Filled",
    "QuestionEmbedder",
    "Run",
    "Setup",
    "ask",
    "ask_baseline",
    "fill",
    "timed",
]

BASELINE = "amem-dense"
CUTOFFS = (5, 10, 20, 30)


class QuestionEmbedder:
    """An embedder that embeds each question once and measures the time it takes.

    A question's vector costs the same however it is used, so searches are timed without it. The
    attribute `seconds` has the time of each.

    Args:
        inner: the embedder.
    """

    def __init__(self, inner: Embedder) -> None:
        self.seconds: list[float] = []
        self._inner = inner
        self._vectors: dict[str, Vector] = {}

    def embed_query(self, text: str) -> Vector:
        """Embed a question, once, and time it."""
        if text not in self._vectors:
            started = time.perf_counter()
            self._vectors[text] = self._inner.embed_query(text)
            self.seconds.append(time.perf_counter() - started)
        return self._vectors[text]

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Embed texts by the inner embedder."""
        return self._inner.embed_documents(texts)

    async def aembed_query(self, text: str) -> Vector:
        """Embed a question by the inner embedder."""
        return await self._inner.aembed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        """Embed texts by the inner embedder."""
        return await self._inner.aembed_documents(texts)


def timed(spec: EmbedderSpec) -> tuple[NamedEmbedder, QuestionEmbedder]:
    """Return the embedder that `spec` means, to open a memory with, and the part that is timed.

    Args:
        spec: as `AgenticMemory(embedder=...)` takes it.

    Raises:
        ModelUnavailableError: there is no such embedder here.
        InvalidInputError: this cannot embed.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.evaluation.recall import timed
        >>> embedder, questions = timed(None)
        >>> with AgenticMemory(embedder=embedder) as memory:
        ...     hits = memory.search("Which eviction?")
        >>> len(questions.seconds)
        1
    """
    named = resolve_embedder(spec)
    questions = QuestionEmbedder(named.inner)
    embedder = NamedEmbedder(
        questions, name=named.name, dimension=named.dimension, languages=named.languages
    )
    return embedder, questions


@dataclass(frozen=True, slots=True)
class Filled:
    """A memory with the notes of a dataset.

    Attributes:
        memory: the memory.
        dataset: the dataset.
        seconds: how long filling took; next to nothing if the notes were there already.
    """

    memory: AgenticMemory
    dataset: Dataset
    seconds: float

    def home(self, conversation: Conversation) -> Namespace:
        """Return the namespace of a conversation.

        Args:
            conversation: one of the dataset.
        """
        return home(self.memory, self.dataset, conversation)

    def counts(self) -> dict[str, int]:
        """Return how many notes there are of each status."""

        def count(conversation: Conversation) -> dict[str, int]:
            namespace = self.home(conversation)
            return self.memory.perform(lambda _, io: counts(io, namespace))

        found = [count(conversation) for conversation in self.dataset.conversations]
        total = {status.value: sum(each.get(status, 0) for each in found) for status in Status}
        return {status: number for status, number in total.items() if number}


def home(memory: AgenticMemory, dataset: Dataset, conversation: Conversation) -> Namespace:
    """Return the namespace of a conversation of this file, formed as this memory forms."""
    options = memory.options
    forming = options.formation_options
    formed = (options.formation, str(options.model), options.mode, forming.instructions)
    setup = json.dumps([dataset.digest, *formed, forming.link, forming.evolve, forming.neighbours])
    return ("amem-eval", hashlib.sha256(setup.encode()).hexdigest()[:16], conversation.id)


def fill(memory: AgenticMemory, dataset: Dataset, progress: Progress | None = None) -> Filled:
    """Add a note for every turn, formed as `memory` forms; turns that are there stay as they are.

    Args:
        memory: the memory.
        dataset: the dataset; each conversation gets a namespace of its own.
        progress: called as progress(done, total) in turns.

    Raises:
        InvalidInputError: a turn cannot be stored.
        StoreError: the store cannot be written.
        ModelError: the embedder gives no usable vectors; its own errors pass through.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Turn
        >>> from amem_integrations.evaluation.recall import fill
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), ())
        >>> fill(memory, Dataset("mine", (talk,))).counts()
        {'formed': 1}
    """
    started = time.perf_counter()
    total = sum(len(conversation.turns) for conversation in dataset.conversations)
    before = 0
    for conversation in dataset.conversations:

        def advance(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total)

        items = [
            {
                "key": turn.id,
                "content": turn.text,
                "speaker": turn.speaker or turn.role,
                "session": turn.session,
                "sequence": place,
                "occurred_at": turn.time,
                "metadata": None if turn.role is None else {"role": turn.role},
            }
            for place, turn in enumerate(conversation.turns)
        ]
        memory.add_many(items, namespace=home(memory, dataset, conversation), progress=advance)
        before += len(items)
    return Filled(memory, dataset, time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Setup:
    """A way of asking a memory.

    Attributes:
        options: how signals are weighed.
        hops: how many links are followed.
    """

    options: RecallOptions = DEFAULT_OPTIONS
    hops: int = 1


@dataclass(frozen=True, slots=True)
class Run:
    """One way of recall over all questions.

    Attributes:
        name: its name in reports.
        ranks: the ranks of each question's evidence, in the order of `Dataset.asked`.
        milliseconds: the time of each question, without embedding it.
        setup: None for a baseline.
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
    name: str = "amem",
    progress: Progress | None = None,
) -> Run:
    """Ask a memory every question, and rank the evidence in what its search finds.

    Args:
        filled: the memory, see `fill`.
        setup: how it is asked.
        questions: the part of its embedder that is timed, see `timed`.
        k: how many notes a question may have.
        name: the name of the run.
        progress: called as progress(done, total) in questions.

    Raises:
        AMemError: a search fails.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
        >>> from amem_integrations.evaluation.recall import Setup, ask, fill, timed
        >>> asked = Question("Which eviction?", ("t1",), "single-hop")
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), (asked,))
        >>> embedder, questions = timed(None)
        >>> with AgenticMemory(embedder=embedder) as memory:
        ...     run = ask(fill(memory, Dataset("mine", (talk,))), Setup(), questions, k=10)
        >>> run.ranks
        ((1,),)
    """

    def found(conversation: Conversation, question: Question) -> list[str]:
        hits = hits_of(filled, setup, conversation, question.text, k=k, at=question.asked_at)
        return [hit.note.key for hit in hits]

    return Run(name, *_timed(filled.dataset, found, questions, progress), setup)


def hits_of(
    filled: Filled,
    setup: Setup,
    conversation: Conversation,
    text: str,
    *,
    k: int,
    at: datetime | None = None,
) -> list[Hit]:
    """Return what a search among the notes of one conversation finds."""
    namespace = filled.home(conversation)
    return filled.memory.perform(
        lambda _, io: search(
            io, text, namespace=namespace, k=k, hops=setup.hops, at=at, options=setup.options
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
    """Ask the reference every question: it finds the nearest turns by cosine.

    Args:
        dataset: the dataset.
        questions: the embedder.
        k: how many turns a question may have.
        progress: called as progress(done, total) in questions.
        embedding: likewise, in turns embedded.

    Raises:
        ModelError: the embedder gives no usable vectors; its own errors pass through.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
        >>> from amem_integrations.evaluation.recall import ask_baseline, timed
        >>> asked = Question("Which eviction?", ("t1",), "single-hop")
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), (asked,))
        >>> run = ask_baseline(Dataset("mine", (talk,)), timed(None)[1], k=10)
        >>> run.name, run.ranks
        ('amem-dense', ((1,),))
    """
    nearest = DenseBaseline(questions, dataset.conversations, embedding)
    return Run(BASELINE, *_timed(dataset, partial(nearest, k=k), questions, progress))


def _timed(
    dataset: Dataset,
    find: Callable[[Conversation, Question], list[str]],
    questions: QuestionEmbedder,
    progress: Progress | None,
) -> tuple[tuple[Ranks, ...], tuple[float, ...]]:
    """Return the ranks of each question's evidence among the turns found, and the milliseconds."""
    ranks: list[Ranks] = []
    milliseconds: list[float] = []
    asked = dataset.asked
    for conversation, question in asked:
        embedded = len(questions.seconds)
        started = time.perf_counter()
        ranking = find(conversation, question)
        seconds = time.perf_counter() - started - sum(questions.seconds[embedded:])
        milliseconds.append(seconds * 1000)
        ranks.append(ranks_of(question.evidence, ranking))
        if progress is not None:
            progress(len(ranks), len(asked))
    return tuple(ranks), tuple(milliseconds)
