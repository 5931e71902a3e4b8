"""Whether scores tell questions that the notes can answer from questions that they cannot.

Every question is asked of its own conversation and of another one, which knows nothing about it.
A threshold that empties the second answer loses some of the first: this is that trade.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.ingest import Filled, Progress
from amem_integrations.evaluation.recall import Setup, hits_of
from amem_integrations.evaluation.report import filling, fingerprint
from amem_integrations.evaluation.resampling import Estimate, Resampling

LOSSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_Values = list[list[float]]


@dataclass(frozen=True, slots=True)
class Answers:
    """Scores by conversation, a question each; -inf where nothing was found.

    foreign: of the best hit in another conversation. own: of the best hit in the own one.
    evidence: of the best piece of evidence that was found, for questions that have one.
    """

    foreign: _Values
    own: _Values
    evidence: _Values


@dataclass(frozen=True, slots=True)
class Point:
    """What dropping hits with a score below `threshold` does.

    empty: share of foreign questions that nothing answers. empty_own: of own questions.
    lost: of own questions whose evidence was found, those that lose all of it.
    """

    threshold: float
    empty: Estimate
    empty_own: Estimate
    lost: Estimate


def answers(
    filled: Filled, setup: Setup, *, k: int = 10, progress: Progress | None = None
) -> Answers:
    """Ask each core question of its own conversation and of the next one, the last of the first.

    Raises InvalidInputError for a single conversation.
    """
    conversations = filled.dataset.conversations
    if len(conversations) < 2:
        raise InvalidInputError("Abstention is measured between conversations; here is only one.")
    total = sum(question.core for _, question in filled.dataset.asked)
    done = 0
    found = Answers([], [], [])
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
            evidence = [hit.score for hit in own if hit.note.key in question.evidence]
            found.foreign[-1].append(max((hit.score for hit in foreign), default=-inf))
            found.own[-1].append(max((hit.score for hit in own), default=-inf))
            if evidence:
                found.evidence[-1].append(max(evidence))
            done += 1
            if progress is not None:
                progress(done, total)
    return found


def curve(found: Answers, losses: Sequence[float] = LOSSES) -> list[Point]:
    """For each loss, the highest threshold that loses no more. Nothing found has no curve."""
    ordered = sorted(score for values in found.evidence for score in values)
    points: list[Point] = []
    resampling = Resampling(len(found.own))
    for loss in losses:
        if not ordered:
            break
        threshold = ordered[min(int(loss * len(ordered)), len(ordered) - 1)]
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
    """The whole report, ready for JSON."""
    return {
        "fingerprint": fingerprint(filled, setup, k=k),
        **filling(filled),
        "points": [asdict(point) for point in points],
    }
