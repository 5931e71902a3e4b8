"""Means over questions with bootstrap intervals that resample conversations.

Questions of one conversation are alike, so drawing questions would promise more than there is.
"""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2000
_SEED = 20_26


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean over `count` questions, and the ends of its 95% interval.

    low, high: None where the questions come from a single conversation, which shows no spread.
    """

    mean: float
    low: float | None
    high: float | None
    count: int


class Resampling:
    """The same draws for every estimate, so that equal data has equal intervals.

    conversations: how many there are.
    """

    def __init__(self, conversations: int, *, resamples: int = RESAMPLES, seed: int = _SEED):
        generator = random.Random(seed)
        everyone = range(conversations)
        self._draws = [generator.choices(everyone, k=conversations) for _ in range(resamples)]

    def estimate(self, values: Sequence[Sequence[float]]) -> Estimate | None:
        """values: of the questions of each conversation. None where there is no question."""
        sums, counts = list(map(sum, values)), list(map(len, values))
        if not sum(counts):
            return None
        mean = sum(sums) / sum(counts)
        if sum(map(bool, counts)) < 2:
            return Estimate(mean, None, None, sum(counts))
        means = [
            sum(sums[each] for each in drawn) / asked
            for drawn in self._draws
            # A draw may hold no conversation with such questions.
            if (asked := sum(counts[each] for each in drawn))
        ]
        # Cut in 40, the first and the last cut are 2.5% from the ends.
        cuts = statistics.quantiles(means, n=40, method="inclusive")
        return Estimate(mean, cuts[0], cuts[-1], sum(counts))
