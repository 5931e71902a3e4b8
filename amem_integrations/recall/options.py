"""What a search can be set to do; `search` and `expand` read it."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from amem_integrations.errors import InvalidInputError

__all__ = ["DEFAULT_OPTIONS", "RecallOptions"]

SIGNALS = ("meaning", "words", "reply", "answer", "speaker", "date", "statement", "length")
SHARES = ("superseded", "contested", "asking")
"""What is left of a score: 1 switches one off."""


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How signals are weighed; 0 switches one off. See `signals` for their units.

    Attributes:
        meaning: nearness of the text to the query.
        words: rare words of the query (BM25), those of the turns around included.
        reply: meaning of the next turn.
        answer: meaning of the turn before, if that is a question; needs `meaning`.
        speaker: whose words are asked for.
        date: when.
        statement: not a question itself.
        length: how much a note can say.
        damping: what a link of weight 1 passes on of a score, in [0, 1]; 0 ignores links.
        followed: the links of how many hits are followed, the best ones.
        fan_out: how many linked notes are considered at each hop, the nearest to the query.
        around: for how many of the best notes the turns around them are looked up.
        superseded: what is left of the score of a note that ceased to hold. A question in the words
            of the old one gives it up to twice what its successor has: half puts it behind.
        contested: what is left of that again where nobody settled whether it holds.
        asking: what is left of the score of a note that only asks, where sources are weighed.
        path: how far a way along links must be believed to give all that it can, in [0, 1]; 0 does
            not ask.
        drop: whether it gives nothing otherwise.
        fold: whether notes that say the same as a better one give way to others.
        diversity: how much unlikeness counts against score, in [0, 1], among the notes to be shown.
        min_relevance: the least relevance that one of them must reach, or none is shown; None does
            not ask for relevance. See `relevance`.
        reranker: reorders the best notes: one of fastembed's cross-encoders by name, a LangChain
            document compressor, or a function from a query and texts to scores.

    Raises:
        InvalidInputError: a value lies where it may not.

    Examples:
        >>> from amem_integrations.recall.options import RecallOptions
        >>> RecallOptions(words=0).weights["words"]
        0
    """

    meaning: float = 0.5
    words: float = 3.0
    reply: float = 0.2
    answer: float = 0.1
    speaker: float = 3.0
    date: float = 3.5
    statement: float = 0.5
    length: float = 0.3
    damping: float = 0.25
    followed: int = 5
    fan_out: int = 32
    around: int = 40
    superseded: float = 0.5
    contested: float = 0.9
    asking: float = 0.5
    path: float = 0.0
    drop: bool = False
    fold: bool = True
    diversity: float = 0.0
    min_relevance: float | None = None
    reranker: Any = None

    def __post_init__(self) -> None:
        weights = {name: getattr(self, name) for name in SIGNALS}
        if not (min(weights.values()) >= 0 and self.meaning + self.words > 0):
            raise InvalidInputError(
                "Signal weights are 0 or more, and meaning or words is above 0; got "
                f"{', '.join(f'{name}={weight}' for name, weight in weights.items())}."
            )
        for name in ("damping", *SHARES, "path", "diversity"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInputError(f"{name} lies in [0, 1]; got {getattr(self, name)}.")
        check_relevance(self.min_relevance)
        for name, least in (("followed", 1), ("fan_out", 1), ("around", 0)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} is at least {least}; got {getattr(self, name)}.")

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each signal, by name."""
        return {name: getattr(self, name) for name in SIGNALS}


def check_relevance(least: object) -> None:
    """Raise InvalidInputError if this can be no `min_relevance`."""
    if least is None:
        return
    if isinstance(least, bool) or not isinstance(least, int | float) or not isfinite(least):
        raise InvalidInputError(f"min_relevance is a number, such as 0.6, or None; got {least!r}.")


DEFAULT_OPTIONS = RecallOptions()
"""What a memory searches with by default."""
