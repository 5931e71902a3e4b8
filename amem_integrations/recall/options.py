"""What a search can be set to do; `search` and `expand` read it."""

from dataclasses import dataclass

from amem_integrations.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How signals are weighed.

    dense, sparse: weights of meaning and of words; 0 switches a signal off.
    damping: what a link of weight 1 passes on of a score, in [0, 1]; 0 ignores links.
    followed: the links of how many hits are followed, the best ones.
    fan_out: how many linked notes are considered at each hop, the nearest to the query.
    """

    dense: float = 0.5
    sparse: float = 0.5
    damping: float = 0.5
    followed: int = 5
    fan_out: int = 32

    def __post_init__(self) -> None:
        if not (self.dense >= 0 and self.sparse >= 0 and self.dense + self.sparse > 0):
            raise InvalidInputError(
                "Signal weights are 0 or more, and one of them is above 0; got "
                f"dense={self.dense}, sparse={self.sparse}."
            )
        if not 0 <= self.damping <= 1:
            raise InvalidInputError(f"damping lies in [0, 1]; got {self.damping}.")
        for name in ("followed", "fan_out"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} is at least 1; got {getattr(self, name)}.")


DEFAULT_OPTIONS = RecallOptions()
