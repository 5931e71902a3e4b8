"""What a search can be set to do; `search` and `expand` read it."""

from dataclasses import dataclass

from amem_integrations.errors import InvalidInputError

SIGNALS = ("dense", "sparse", "reply", "speaker", "date", "statement", "length")


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How signals are weighed; 0 switches one off. See `signals` for their units.

    dense: meaning. sparse: words, also those of the turns around. reply: meaning of the next turn.
    speaker: whose words are asked for. date: when. statement: not a question itself. length: how
        much a note can say.
    damping: what a link of weight 1 passes on of a score, in [0, 1]; 0 ignores links.
    followed: the links of how many hits are followed, the best ones.
    fan_out: how many linked notes are considered at each hop, the nearest to the query.
    around: for how many of the best notes the turns around them are looked up.
    """

    dense: float = 0.5
    sparse: float = 3.0
    reply: float = 0.2
    speaker: float = 3.0
    date: float = 3.5
    statement: float = 0.5
    length: float = 0.3
    damping: float = 0.25
    followed: int = 5
    fan_out: int = 32
    around: int = 20

    def __post_init__(self) -> None:
        weights = {name: getattr(self, name) for name in SIGNALS}
        if not (min(weights.values()) >= 0 and self.dense + self.sparse > 0):
            raise InvalidInputError(
                "Signal weights are 0 or more, and dense or sparse is above 0; got "
                f"{', '.join(f'{name}={weight}' for name, weight in weights.items())}."
            )
        if not 0 <= self.damping <= 1:
            raise InvalidInputError(f"damping lies in [0, 1]; got {self.damping}.")
        for name, least in (("followed", 1), ("fan_out", 1), ("around", 0)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} is at least {least}; got {getattr(self, name)}.")

    @property
    def weights(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in SIGNALS}


DEFAULT_OPTIONS = RecallOptions()
