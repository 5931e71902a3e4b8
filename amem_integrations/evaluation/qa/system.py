"""What a memory system is to the question answering: it prepares a conversation, gives evidence.

Anyone's system can take part: an object with these methods. How evidence is read and scored is
the same for all of them, and is not decided here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.models.embedding import NamedEmbedder
from amem_integrations.ports import ChatModel

__all__ = ["Budget", "Cost", "Evidence", "Factory", "Means", "System"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much evidence a question may have.

    k: notes or turns at most. tokens: of the text, as `tokens.estimate_tokens` counts, at most;
    None: no limit. A system that always gives everything, or a page of summaries, may heed
    neither; the report shows what it took.
    """

    k: int = 10
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reader is shown for one question.

    text: it goes into the reader's prompt as it is; "" where nothing was found. turns: ids of
    the turns that it rests on, best first, for recall of evidence.
    """

    text: str
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a system is expected to ask of a model; the reader's own calls are not part of it.

    evidence: tokens of the text that one question is shown.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    evidence: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """What a system is made of. The model counts, and stops at the run's limits.

    model: None where the run has none; `str` of it is its name, the same in every process.
    location: where notes are kept for another run, or None. seed: of whatever is drawn.
    """

    dataset: Dataset
    embedder: NamedEmbedder
    model: ChatModel | None = None
    location: str | None = None
    seed: int = 0


class System(Protocol):
    """A memory, full or empty. Errors of the package leave the question or conversation marked."""

    @property
    def name(self) -> str: ...

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        """Of preparing the conversation and finding evidence for each of its questions.

        An estimate, made without asking anything.
        """
        ...

    def prepare(self, conversation: Conversation) -> None:
        """Take the conversation in: called once, before its questions. May be cut short.

        Raises AnalysisError where the model gives nothing.
        """
        ...

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        """What the question is answered from. Called from several threads at once."""
        ...

    def close(self) -> None:
        """Called once, at the end."""
        ...


Factory: TypeAlias = Callable[[Means], System]
"""Raises InvalidInputError where the means lack something, such as a model."""
