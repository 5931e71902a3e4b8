"""Fusion: what the signals say, made into one ranking that can be explained.

Pure: no io, no notes. `signals` makes what is added here; another signal joins by being one
more mapping.
"""

from collections.abc import Iterable, Mapping
from math import fsum
from operator import itemgetter
from typing import NamedTuple


class Ranked(NamedTuple):
    """A note's place: `why` has each signal's contribution, and `score` is their sum."""

    id: str
    score: float
    why: dict[str, float]


def fuse(signals: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]) -> list[Ranked]:
    """Every note that some signal knows, best first; ties in the order of ids.

    signals: by name, a value of 0 or more for each note; absent says nothing.
    Adding scores keeps how much better the best is, which adding ranks (RRF) throws away.
    """
    whys: dict[str, dict[str, float]] = {}
    for name, values in signals.items():
        weight = weights[name]
        for id, value in values.items():
            why = whys.get(id)
            if why is None:
                why = whys[id] = {}
            if weight and value:
                why[name] = weight * value
    ranked = [Ranked(id, fsum(why.values()), why) for id, why in whys.items()]
    return in_order(ranked)


def in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Best first; ties in the order of ids."""
    return sorted(sorted(ranked, key=itemgetter(0)), key=itemgetter(1), reverse=True)
