"""What runs come to: estimates by category, differences between runs, times, the fingerprint.

`cli` shows it as a table or as JSON.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from amem_integrations import __version__
from amem_integrations.core.io import IO
from amem_integrations.evaluation.dataset import Dataset
from amem_integrations.evaluation.ingest import Filled
from amem_integrations.evaluation.metrics import scores
from amem_integrations.evaluation.questions import QuestionEmbedder
from amem_integrations.evaluation.recall import Run, Setup
from amem_integrations.evaluation.resampling import Estimate, Resampling
from amem_integrations.memory.operations import Wiring

__all__ = ["Scored", "score"]

CORE = "core"
Estimates = Mapping[str, Mapping[str, Estimate]]
"""By group ("core", then each category) and metric."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A run in numbers.

    Attributes:
        run: the run.
        estimates: means with intervals, by group ("core", then each category) and metric.
        difference: of the first run to this one, paired by question; empty for the first run.

    Examples:
        >>> from amem_integrations.evaluation.recall import Run
        >>> from amem_integrations.evaluation.report import Scored
        >>> Scored(Run("by hand", ((1,),), (2.5,)), {}, {}).run.name
        'by hand'
    """

    run: Run
    estimates: Estimates
    difference: Estimates


def score(dataset: Dataset, runs: Sequence[Run], cutoffs: Sequence[int]) -> list[Scored]:
    """Means and intervals of every run, and how far the first is ahead of each other one.

    Args:
        dataset: what was asked about.
        runs: what was found, over the same questions.
        cutoffs: at how many notes recall is taken.

    Examples:
        >>> from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
        >>> from amem_integrations.evaluation.recall import Run
        >>> from amem_integrations.evaluation.report import score
        >>> asked = Question("Which eviction?", ("t1",), "single-hop")
        >>> talk = Conversation("talk", (Turn("t1", "Calvin wants LRU eviction"),), (asked,))
        >>> [scored] = score(Dataset("mine", (talk,)), [Run("by hand", ((3,),), (2.5,))], [1, 5])
        >>> scored.estimates["core"]["recall@1"].mean, scored.estimates["core"]["recall@5"].mean
        (0.0, 1.0)
    """
    resampling = Resampling(len(dataset.conversations))
    tables = [[scores(ranks, cutoffs) for ranks in run.ranks] for run in runs]
    scored: list[Scored] = []
    for run, table in zip(runs, tables, strict=True):
        ahead = [_minus(mine, its) for mine, its in zip(tables[0], table, strict=True)]
        scored.append(
            Scored(
                run,
                _estimates(dataset, table, resampling),
                {} if run is runs[0] else _estimates(dataset, ahead, resampling),
            )
        )
    return scored


def groups(dataset: Dataset) -> list[str]:
    """ "core", then its categories, then those that are reported apart."""
    core = {question.category: question.core for _, question in dataset.asked}
    return [CORE, *sorted(core, key=lambda category: (not core[category], category))]


def _minus(first: Mapping[str, float], second: Mapping[str, float]) -> Mapping[str, float]:
    return {name: first[name] - second[name] for name in first}


def _estimates(
    dataset: Dataset, table: Sequence[Mapping[str, float]], resampling: Resampling
) -> Estimates:
    found: dict[str, dict[str, Estimate]] = {}
    for group in groups(dataset):
        for metric in table[0]:
            values: dict[str, list[float]] = {each.id: [] for each in dataset.conversations}
            for (conversation, question), row in zip(dataset.asked, table, strict=True):
                if question.core if group == CORE else question.category == group:
                    values[conversation.id].append(row[metric])
            estimate = resampling.estimate(list(values.values()))
            if estimate is not None:
                found.setdefault(group, {})[metric] = estimate
    return found


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile, each one of the values."""
    ordered = sorted(values)
    return {f"p{p}": ordered[math.ceil(len(ordered) * p / 100) - 1] for p in (50, 95)}


def fingerprint(filled: Filled, setup: Setup | None, **further: Any) -> dict[str, Any]:
    """Everything that the numbers depend on, times apart, and a digest of it."""
    options, dataset = filled.memory.options, filled.dataset

    async def parts(wiring: Wiring, io: IO) -> dict[str, Any]:
        return {
            "analyst": None if options.formation == "off" else wiring.analyst_name,
            "sparse": io.sparse.name,
            "engine": type(io.engine).__name__,
        }

    facts: dict[str, Any] = {
        "version": __version__,
        "data": dataset.facts,
        "formation": options.formation,
        "mode": options.mode,
        "embedder": getattr(options.embedder, "name", str(options.embedder)),
        **filled.memory.perform(parts),
        **_shown(setup),
        **further,
    }
    canonical = json.dumps(facts, sort_keys=True).encode()
    return {"digest": hashlib.sha256(canonical).hexdigest()[:12], **facts}


def as_dict(
    scored: Sequence[Scored], filled: Filled, questions: QuestionEmbedder, cutoffs: Sequence[int]
) -> dict[str, Any]:
    """The whole report, ready for JSON: no text of the data, but the ranks of all evidence."""
    dataset = filled.dataset
    return {
        "fingerprint": fingerprint(filled, scored[0].run.setup, cutoffs=list(cutoffs)),
        **filling(filled),
        "embedding_milliseconds": percentiles([1000 * each for each in questions.seconds]),
        "runs": [
            {
                "name": each.run.name,
                **_shown(each.run.setup),
                "milliseconds": percentiles(each.run.milliseconds),
                "estimates": _plain(each.estimates),
                "difference": _plain(each.difference),
                "ranks": each.run.ranks,
                "took": [round(took, 3) for took in each.run.milliseconds],
            }
            for each in scored
        ],
        "questions": questions_of(dataset),
    }


def questions_of(dataset: Dataset) -> list[dict[str, str]]:
    """Which questions are asked, without their text."""
    return [
        {"conversation": conversation.id, "category": question.category}
        for conversation, question in dataset.asked
    ]


def filling(filled: Filled) -> dict[str, Any]:
    """What was wrong with the data, and what became of it."""
    return {
        "defects": dict(filled.dataset.defects),
        "filling": {
            "seconds": filled.seconds,
            "notes": filled.counts(),
            "usage": asdict(filled.memory.usage().total),
        },
    }


def _shown(setup: Setup | None) -> dict[str, Any]:
    if setup is None:
        return {"hops": None, "options": None}
    return {"hops": setup.hops, "options": asdict(replace(setup.options, reranker=None))}


def _plain(estimates: Estimates) -> dict[str, dict[str, Any]]:
    return {
        group: {metric: asdict(estimate) for metric, estimate in metrics.items()}
        for group, metrics in estimates.items()
    }
