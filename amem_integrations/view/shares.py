"""Why a note was found, as rows of a table with bars: pure, from hits to shapes."""

from collections.abc import Sequence
from dataclasses import dataclass

from amem_integrations.core.note import Hit

_SEEN = 0.005


@dataclass(frozen=True, slots=True)
class Share:
    """One signal's contribution. start, width: of its bar, in percent of what all hits span."""

    signal: str
    value: float
    start: float
    width: float


def shares(hits: Sequence[Hit]) -> list[list[Share]]:
    """For each hit its signals, the largest first; those too small to be seen are left out."""
    values = [value for hit in hits for value in hit.why.values()]
    low, high = min([0.0, *values]), max([0.0, *values])
    span = (high - low) or 1.0
    return [
        [
            Share(
                name,
                value,
                100 * (min(value, 0.0) - low) / span,
                100 * abs(value) / span,
            )
            for name, value in sorted(hit.why.items(), key=lambda each: -each[1])
            if abs(value) >= _SEEN
        ]
        for hit in hits
    ]
