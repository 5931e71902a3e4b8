"""What a run comes to, with its whole set-up, ready for JSON; `document` lays it out to be read."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from amem_integrations import __version__
from amem_integrations.core.usage import Usage
from amem_integrations.evaluation.qa import judging
from amem_integrations.evaluation.qa.metering import MeteredModel, Price
from amem_integrations.evaluation.qa.reader import PROMPTS, RULES, ModelReader, Reader
from amem_integrations.evaluation.qa.run import Asked
from amem_integrations.evaluation.qa.scoring import (
    CATEGORIES,
    CORE,
    Estimates,
    Scored,
    mean_ranks,
    unavailable,
)
from amem_integrations.evaluation.qa.system import Budget, Means

_LIBRARIES = ("nltk", "rouge-score", "langchain-core", "langgraph", "fastembed", "qdrant-edge-py")


def as_dict(
    scored: Sequence[Scored], asked: Asked, setup: Mapping[str, Any], price: Price | None = None
) -> dict[str, Any]:
    """The whole report: no text of the data, but how each question was answered is kept beside.

    Measures are between 0 and 1; tokens are a question's.
    """
    ranks = mean_ranks(scored)
    return {
        "setup": dict(setup),
        "systems": [
            {
                "system": each.system,
                "k": each.budget.k,
                "tokens": each.budget.tokens,
                "rank": rank,
                "failed": dict(each.failed),
                "estimates": _plain(each.estimates),
                "difference": _plain(each.difference),
            }
            for each, rank in zip(scored, ranks, strict=True)
        ],
        "missing": asked.missing,
        "unavailable": unavailable(),
        "usage": None if asked.usage is None else _used(asked.usage, price),
        "sweep": sweep(scored),
    }


def sweep(scored: Sequence[Scored]) -> dict[str, dict[str, Any]]:
    """By system and category, where there are several k: F1 by k, the best, and the advised.

    Advised is the least k whose F1 is within the interval of the best one: what is beyond it
    costs tokens and cannot be told from chance.
    """
    runs: dict[str, list[Scored]] = {}
    for each in scored:
        runs.setdefault(each.system, []).append(each)
    found: dict[str, dict[str, Any]] = {}
    for system, several in runs.items():
        if len({each.budget.k for each in several}) < 2:
            continue
        for group in dict.fromkeys(group for each in several for group in each.estimates):
            by_k = {each.budget.k: each.estimates[group]["f1"] for each in several}
            best = max(by_k, key=lambda k: (by_k[k].mean, -k))
            low = by_k[best].low
            least = by_k[best].mean if low is None else low
            found.setdefault(system, {})[group] = {
                "f1": {str(k): estimate.mean for k, estimate in by_k.items()},
                "best": best,
                "advised": min(k for k, estimate in by_k.items() if estimate.mean >= least),
            }
    return found


def setup_of(
    means: Means,
    reader: Reader,
    systems: Sequence[str],
    budgets: Sequence[Budget],
    model: MeteredModel | None = None,
    *,
    judged: bool = False,
) -> dict[str, Any]:
    """Everything that the numbers depend on, as far as it can be told."""
    dataset = means.dataset
    return {
        "version": __version__,
        "python": platform.python_version(),
        "libraries": {name: found for name in _LIBRARIES if (found := _version(name))},
        "data": {**dataset.facts, "defects": dict(dataset.defects)},
        "systems": list(systems),
        "budgets": [asdict(budget) for budget in budgets],
        "reader": reader.name,
        "prompts": {
            **({"rules": RULES, **PROMPTS} if isinstance(reader, ModelReader) else {}),
            **({"judge": judging.RULES} if judged else {}),
        },
        "model": None if model is None else model.name,
        "reported": [] if model is None else model.reported(),
        "embedder": means.embedder.name,
        "seed": means.seed,
    }


def labels_of(report: Mapping[str, Any]) -> list[str]:
    """The systems' names, with k where there are several."""
    several = len({each["k"] for each in report["systems"]}) > 1
    return [
        f"{each['system']}, k={each['k']}" if several else each["system"]
        for each in report["systems"]
    ]


def groups_of(report: Mapping[str, Any]) -> list[str]:
    """The categories that there are, LoCoMo's first."""
    there = {group for each in report["systems"] for group in each["estimates"]} - {CORE}
    return [*(each for each in CATEGORIES if each in there), *sorted(there - set(CATEGORIES))]


def _used(usage: Usage, price: Price | None) -> dict[str, Any]:
    return {**asdict(usage), "usd": None if price is None else price.of(usage)}


def _plain(estimates: Estimates) -> dict[str, dict[str, Any]]:
    return {
        group: {measure: asdict(estimate) for measure, estimate in measures.items()}
        for group, measures in estimates.items()
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
