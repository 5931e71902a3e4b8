"""What a memory system is to the question answering: it prepares a conversation, gives evidence.

Anyone's system can take part: an object with these methods. How evidence is read and scored is
the same for all of them, and is not decided here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from amem_integrations.core.io import ChatModel
from amem_integrations.embedders.dense import NamedEmbedder
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question

__all__ = ["Budget", "Cost", "Evidence", "Factory", "Means", "System"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much evidence a question may have.

    A system that always gives everything, or a page of summaries, may heed neither; the report
    shows what it took.

    Attributes:
        k: notes or turns at most.
        tokens: of the text, as `tokens.estimate_tokens` counts, at most; None: no limit.

    Examples:
        >>> from amem_integrations.evaluation.qa.system import Budget
        >>> Budget(tokens=600)
        Budget(k=10, tokens=600)
    """

    k: int = 10
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reader is shown for one question.

    Attributes:
        text: it goes into the reader's prompt as it is; "" where nothing was found.
        turns: ids of the turns that it rests on, best first, for recall of evidence.

    Examples:
        >>> from amem_integrations.evaluation.qa.system import Evidence
        >>> Evidence("Calvin: LRU eviction, please.", turns=("t1",)).turns
        ('t1',)
    """

    text: str
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a system is expected to ask of a model; the reader's own calls are not part of it.

    Attributes:
        calls: questions put to the model.
        tokens_in: of the prompts.
        tokens_out: of the answers.
        evidence: tokens of the text that one question is shown.

    Examples:
        >>> from amem_integrations.evaluation.qa.system import Cost
        >>> Cost(evidence=600).calls
        0
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    evidence: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """What a system is made of. The model counts, and stops at the run's limits.

    Attributes:
        dataset: what is asked about.
        embedder: who embeds.
        model: None where the run has none; `str` of it is its name, the same in every process.
        location: where notes are kept for another run, or None.
        seed: of whatever is drawn.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Dataset
        >>> from amem_integrations.evaluation.qa.system import Means
        >>> from amem_integrations.evaluation.questions import timed
        >>> Means(Dataset("mine", ()), timed(None)[0]).model is None
        True
    """

    dataset: Dataset
    embedder: NamedEmbedder
    model: ChatModel | None = None
    location: str | None = None
    seed: int = 0


class System(Protocol):
    """A memory, full or empty. Errors of the package leave the question or conversation marked.

    Its methods are told of a `conversation`, of one `question` and of its `budget`.

    Examples:
        >>> from amem_integrations.evaluation.qa.system import Cost, Evidence
        >>> class LastTurn:
        ...     name = "last-turn"
        ...     def __init__(self, means): ...
        ...     def cost(self, conversation, budget):
        ...         return Cost()
        ...     def prepare(self, conversation): ...
        ...     def evidence(self, conversation, question, budget):
        ...         turn = conversation.turns[-1]
        ...         return Evidence(turn.text, (turn.id,))
        ...     def close(self): ...
        >>> from amem_integrations.evaluation.dataset import Conversation, Turn
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), ())
        >>> LastTurn(None).evidence(talk, None, None).text
        'Calvin wants LRU eviction'
    """

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        """Of preparing the conversation and finding evidence for each of its questions.

        An estimate, made without asking anything.
        """
        ...

    def prepare(self, conversation: Conversation) -> None:
        """Take the `conversation` in: called once, before its questions. May be cut short.

        Raises:
            AnalysisError: the model gives nothing.
        """
        ...

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        """What the question is answered from. Called from several threads at once."""
        ...

    def close(self) -> None:
        """Called once, at the end."""
        ...


Factory: TypeAlias = Callable[[Means], System]
"""Makes a system. Raises InvalidInputError where the means lack something, such as a model."""
