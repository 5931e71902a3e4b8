"""A memory system in question answering, and what the systems here share.

Anyone's system can take part: an object with the methods of `System`. Evidence is read and scored
in the same way for all of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Protocol, TypeAlias

from amem_integrations.core.io import ChatModel
from amem_integrations.core.values import estimate_tokens
from amem_integrations.embedders.dense import NamedEmbedder
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn

__all__ = ["Budget", "Cost", "Evidence", "Factory", "Means", "System"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much evidence a question may have.

    A system that always gives everything may heed neither; the report shows what it took.

    Attributes:
        k: notes or turns at most.
        tokens: of the text, as `tokens.estimate_tokens` counts, at most; None: no limit.
    """

    k: int = 10
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reader is shown for one question.

    Attributes:
        text: it goes into the reader's prompt as it is; "" if nothing was found.
        turns: ids of the turns that it rests on, best first, for recall of evidence.
    """

    text: str
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a system is expected to ask of a model, without the reader's own calls.

    Attributes:
        calls: questions put to the model.
        tokens_in: of the prompts.
        tokens_out: of the answers.
        evidence: tokens of the text that one question is shown.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    evidence: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """What a system is made of. The model stops at the run's limit of calls.

    Attributes:
        dataset: the dataset.
        embedder: the embedder.
        model: None if the run has none; `str` of it is its name, the same in every process.
        location: where notes are kept for another run, or None.
    """

    dataset: Dataset
    embedder: NamedEmbedder
    model: ChatModel | None = None
    location: str | None = None


class System(Protocol):
    """A memory, full or empty. Errors of the package mark the question or conversation as failed.

    Its methods get a `conversation`, one `question` and its `budget`.

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
        """Its name in reports."""
        ...

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        """Estimate what preparing the conversation and finding all evidence takes.

        Nothing is asked for it.
        """
        ...

    def prepare(self, conversation: Conversation) -> None:
        """Take the `conversation` in: called once, before its questions. May be cut short.

        Raises:
            AnalysisError: the model gives nothing.
        """
        ...

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        """Return what the question is answered from. Called from several threads at once."""
        ...

    def close(self) -> None:
        """Called once, at the end."""
        ...


Factory: TypeAlias = Callable[[Means], System]
"""Makes a system. Raises InvalidInputError if the means lack something, such as a model."""


def line(turn: Turn) -> str:
    """Return a turn on one line: "[2023-05-07] Caroline: what she said"."""
    return dated(turn.time, spoken(turn))


def spoken(turn: Turn) -> str:
    """Return a turn on one line: "Caroline: what she said"."""
    speaker = turn.speaker or turn.role
    text = " ".join(turn.text.split())
    return f"{speaker}: {text}" if speaker else text


def dated(at: datetime | None, text: str) -> str:
    """Return the text after its date, if there is one."""
    return text if at is None else f"[{at:%Y-%m-%d}] {text}"


def is_known(at: datetime | None, question: Question) -> bool:
    """Return whether something from `at` was known when the question was asked."""
    return question.asked_at is None or at is None or at <= question.asked_at


def known_turns(conversation: Conversation, question: Question) -> list[Turn]:
    """Return the turns that the question may be answered from, in order."""
    return [turn for turn in conversation.turns if is_known(turn.time, question)]


def transcript(turns: Iterable[Turn]) -> str:
    """Return all of the turns, those of each day under a line with its date: "[2023-05-07]"."""
    lines: list[str] = []
    last = ""
    for turn in turns:
        day = dated(turn.time, "").strip()
        if day and day != last:
            lines.append(day)
        lines.append(spoken(turn))
        last = day
    return "\n".join(lines)


def line_tokens(text: str) -> int:
    """Estimate the tokens of the text as a line of its own."""
    return estimate_tokens(text + "\n")


def shown_turns(best: Sequence[Turn], conversation: Conversation, budget: Budget) -> Evidence:
    """Return the best turns that fit, as lines in the order in which they were said.

    A line is whole or not there: the next one that fits takes its place.
    """
    chosen: list[str] = []
    used = 0
    for turn in best:
        took = line_tokens(line(turn))
        if len(chosen) < budget.k and (budget.tokens is None or used + took <= budget.tokens):
            chosen.append(turn.id)
            used += took
    in_order = [line(turn) for turn in conversation.turns if turn.id in chosen]
    return Evidence("\n".join(in_order), tuple(chosen))


def expected_cost(conversation: Conversation, budget: Budget) -> Cost:
    """Estimate the evidence of `shown_turns`, without a model."""
    mean = fmean(line_tokens(line(turn)) for turn in conversation.turns or [Turn("", "")])
    most = round(mean * min(budget.k, len(conversation.turns)))
    return Cost(evidence=most if budget.tokens is None else min(most, budget.tokens))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system and a reader made of one question.

    place: of the question in `scorable`. turns: what the evidence rests on, best first. tokens:
    of the evidence. failure: why there is no answer, in a word; it is not scored then.
    """

    system: str
    budget: Budget
    place: int
    text: str
    turns: tuple[str, ...]
    tokens: int
    failure: str | None = None
