"""Fusion: the lists that the signals found, made into one ranking that can be explained.

Pure: no io, no notes. `search` calls it; another signal joins by being one more list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

# How far a list's lowest score is believed to be the floor: fully for a long list, hardly
# for one of two or three notes, whose lowest score may be as good as its best.
_FEW = 3


@dataclass(frozen=True, slots=True)
class Signal:
    """What one signal says: `scores` by note id, higher is better, absent means nothing.

    weight: what the best note of a clear-cut list gets.
    unit: the spread between best and worst from which a list counts as clear-cut, in the
        units of `scores`. Lists with a smaller spread weigh less: they cannot tell notes apart.
    """

    name: str
    scores: Mapping[str, float]
    weight: float
    unit: float


class Ranked(NamedTuple):
    """A note's place: `why` has each signal's contribution, and `score` is their sum."""

    id: str
    score: float
    why: dict[str, float]


def fuse(signals: Sequence[Signal]) -> list[Ranked]:
    """Every note that some signal found, best first; ties in the order of ids.

    Each list's scores are brought to [0, weight] and added. Adding scores keeps how much
    better the best is, which adding ranks (RRF) throws away. No signals give no notes.
    """
    contributions: dict[str, dict[str, float]] = {}
    for signal in signals:
        if not signal.scores:
            continue
        values = signal.scores.values()
        floor = max(min(values), 0.0) * len(values) / (len(values) + _FEW)
        scale = signal.weight / max(max(values) - floor, signal.unit)
        for id, score in signal.scores.items():
            contributions.setdefault(id, {})[signal.name] = max(score - floor, 0.0) * scale
    ranked = [Ranked(id, fsum(why.values()), why) for id, why in contributions.items()]
    ranked.sort(key=lambda found: (-found.score, found.id))
    return ranked
