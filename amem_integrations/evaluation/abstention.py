"""Whether relevance tells questions that the notes can answer from questions that they cannot.

Each question is asked of its own conversation and of another one, which knows nothing about it.
A `min_relevance` that empties the second answer loses some of the first: this measures the trade.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any

from amem_integrations.core.hit import Hit
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.metrics import Estimate, Resampling
from amem_integrations.evaluation.recall import Filled, Setup, hits_of
from amem_integrations.evaluation.report import filling, fingerprint
from amem_integrations.evaluation.vectors import Progress

LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_Values = list[list[float]]


@dataclass(frozen=True, slots=True)
class Relevance:
    """The greatest relevance of a hit, by conversation and question; -inf if there was none.

    foreign: in another conversation. own: in the own one. evidence: in the own one, for
    questions some of whose evidence was found.
    """

    foreign: _Values = field(default_factory=_Values)
    own: _Values = field(default_factory=_Values)
    evidence: _Values = field(default_factory=_Values)


@dataclass(frozen=True, slots=True)
class Point:
    """The effect of `threshold` as `min_relevance`.

    empty: share of foreign questions that come back empty. empty_own: of own questions.
    lost: of own questions whose evidence was found.
    """

    threshold: float
    empty: Estimate
    empty_own: Estimate
    lost: Estimate


def ask_twice(
    filled: Filled, setup: Setup, *, k: int = 10, progress: Progress | None = None
) -> Relevance:
    """Ask each core question of its own conversation and of the next one, the last of the first.

    Raises InvalidInputError for a single conversation.
    """
    conversations = filled.dataset.conversations
    if len(conversations) < 2:
        raise InvalidInputError("Abstention is measured between conversations; here is only one.")
    total = sum(question.core for _, question in filled.dataset.asked)
    done = 0
    setup = replace(setup, options=replace(setup.options, min_relevance=0.0))
    found = Relevance()
    for place, conversation in enumerate(conversations):
        other = conversations[(place + 1) % len(conversations)]
        for values in (found.foreign, found.own, found.evidence):
            values.append([])
        for question in conversation.questions:
            if not question.core:
                continue
            # Not as of when it was asked: the other conversation has times of its own.
            foreign = hits_of(filled, setup, other, question.text, k=k)
            own = hits_of(filled, setup, conversation, question.text, k=k, at=question.asked_at)
            found.foreign[-1].append(_greatest(foreign))
            found.own[-1].append(_greatest(own))
            if any(hit.note.key in question.evidence for hit in own):
                found.evidence[-1].append(_greatest(own))
            done += 1
            if progress is not None:
                progress(done, total)
    return found


def _greatest(hits: Sequence[Hit]) -> float:
    return max((hit.relevance or 0.0 for hit in hits), default=-inf)


def curve(
    found: Relevance, losses: Sequence[float] = LOSSES, *, at: Sequence[float] = ()
) -> list[Point]:
    """Return for each loss the highest threshold that loses no more; `at` are further thresholds.

    If nothing was found, there is no curve.
    """
    ordered = sorted(score for values in found.evidence for score in values)
    places = (min(int(loss * len(ordered)), len(ordered) - 1) for loss in losses if ordered)
    resampling = Resampling(len(found.own))
    points: list[Point] = []
    for threshold in sorted([*(ordered[place] for place in places), *at]):
        empty, empty_own, lost = (
            resampling.estimate(
                [[float(score < threshold) for score in scores] for scores in values]
            )
            for values in (found.foreign, found.own, found.evidence)
        )
        if empty is not None and empty_own is not None and lost is not None:
            points.append(Point(threshold, empty, empty_own, lost))
    return points


def as_dict(points: Sequence[Point], filled: Filled, setup: Setup, k: int) -> dict[str, Any]:
    """Return the whole report, ready for JSON."""
    return {
        "fingerprint": fingerprint(filled, setup, k=k),
        **filling(filled),
        "points": [asdict(point) for point in points],
    }
