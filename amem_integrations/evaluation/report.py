"""The report of recall: estimates by category, differences between runs, times, a fingerprint."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import AliasPath, BaseModel, Field, ValidationError

from amem_integrations import __version__
from amem_integrations.core.io import IO
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.metrics import Estimate, Resampling, rank_scores
from amem_integrations.evaluation.recall import Filled, QuestionEmbedder, Run, Setup
from amem_integrations.memory.wiring import Wiring

__all__ = ["Scored", "score"]

CORE = "core"
Row = Mapping[str, float]
Estimates = Mapping[str, Mapping[str, Estimate]]
"""By group ("core", then each category) and measure."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A run in numbers.

    Attributes:
        run: the run.
        estimates: means with intervals, by group ("core", then each category) and measure.
        difference: of the first run to this one, paired by question; empty for the first run.
    """

    run: Run
    estimates: Estimates
    difference: Estimates


def score(dataset: Dataset, runs: Sequence[Run], cutoffs: Sequence[int]) -> list[Scored]:
    """Return means and intervals of every run, and how far the first is ahead of each other one.

    Args:
        dataset: the dataset.
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
    tables = [[rank_scores(ranks, cutoffs) for ranks in run.ranks] for run in runs]
    results = estimates_of(dataset.asked, tables, groups(dataset.asked))
    return [Scored(run, *result) for run, result in zip(runs, results, strict=True)]


def groups(asked: Sequence[tuple[Conversation, Question]]) -> list[str]:
    """Return "core", then its categories, then those that are reported apart."""
    core = {question.category: question.core for _, question in asked}
    return [CORE, *sorted(core, key=lambda category: (not core[category], category))]


def in_group(question: Question, group: str) -> bool:
    """Return whether a question counts in a group."""
    return question.core if group == CORE else question.category == group


def estimates_of(
    asked: Sequence[tuple[Conversation, Question]],
    tables: Sequence[Sequence[Row | None]],
    groups: Sequence[str],
) -> list[tuple[Estimates, Estimates]]:
    """Return the estimates of each table of measures, and how far the first table is ahead.

    Each table has a row for each question; None if it was not answered.
    """
    resampling = Resampling(len({conversation.id for conversation, _ in asked}))

    def estimates(table: Sequence[Row | None]) -> Estimates:
        measures = dict.fromkeys(measure for row in table if row is not None for measure in row)
        found: dict[str, dict[str, Estimate]] = {}
        for group in groups:
            for measure in measures:
                values: dict[str, list[float]] = {conversation.id: [] for conversation, _ in asked}
                for (conversation, question), row in zip(asked, table, strict=True):
                    if row is not None and measure in row and in_group(question, group):
                        values[conversation.id].append(row[measure])
                estimate = resampling.estimate(list(values.values()))
                if estimate is not None:
                    found.setdefault(group, {})[measure] = estimate
        return found

    def ahead(table: Sequence[Row | None]) -> list[Row | None]:
        return [
            None
            if mine is None or other is None
            else {measure: mine[measure] - other[measure] for measure in mine if measure in other}
            for mine, other in zip(tables[0], table, strict=True)
        ]

    return [
        (estimates(table), {} if table is tables[0] else estimates(ahead(table)))
        for table in tables
    ]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile, each one of the values."""
    ordered = sorted(values)
    return {f"p{p}": ordered[math.ceil(len(ordered) * p / 100) - 1] for p in (50, 95)}


def fingerprint(filled: Filled, setup: Setup | None, **further: Any) -> dict[str, Any]:
    """Return everything that the numbers depend on, except times, and a digest of it."""
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
        **_settings(setup),
        **further,
    }
    canonical = json.dumps(facts, sort_keys=True).encode()
    return {"digest": hashlib.sha256(canonical).hexdigest()[:12], **facts}


def as_dict(
    scored: Sequence[Scored],
    filled: Filled,
    questions: QuestionEmbedder,
    cutoffs: Sequence[int],
) -> dict[str, Any]:
    """Return the whole report, ready for JSON: no text of the data, but the ranks of evidence."""
    return {
        "fingerprint": fingerprint(filled, scored[0].run.setup, cutoffs=list(cutoffs)),
        **filling(filled),
        "embedding_milliseconds": percentiles([1000 * seconds for seconds in questions.seconds]),
        "runs": [
            {
                "name": result.run.name,
                **_settings(result.run.setup),
                "milliseconds": percentiles(result.run.milliseconds),
                "estimates": plain(result.estimates),
                "difference": plain(result.difference),
                "ranks": result.run.ranks,
                "took": [round(took, 3) for took in result.run.milliseconds],
            }
            for result in scored
        ],
        "questions": _questions_of(filled.dataset),
    }


def filling(filled: Filled) -> dict[str, Any]:
    """Return the defects of the data, and what filling the memory made and took."""
    return {
        "defects": dict(filled.dataset.defects),
        "filling": {
            "seconds": filled.seconds,
            "notes": filled.counts(),
            "usage": asdict(filled.memory.usage().total),
        },
    }


def plain(estimates: Estimates) -> dict[str, dict[str, Any]]:
    """Return estimates, ready for JSON."""
    return {
        group: {measure: asdict(estimate) for measure, estimate in measures.items()}
        for group, measures in estimates.items()
    }


def _questions_of(dataset: Dataset) -> list[dict[str, str]]:
    return [
        {"conversation": conversation.id, "category": question.category}
        for conversation, question in dataset.asked
    ]


def _settings(setup: Setup | None) -> dict[str, Any]:
    if setup is None:
        return {"hops": None, "options": None}
    return {"hops": setup.hops, "options": asdict(replace(setup.options, reranker=None))}


class _Run(BaseModel):
    ranks: list[list[int | None]]
    took: list[float]


class _Report(BaseModel):
    """A report that `amem eval recall --json` printed, as far as it is read again."""

    sha256: str = Field(validation_alias=AliasPath("fingerprint", "data", "sha256"))
    cutoffs: list[int] = Field(min_length=1, validation_alias=AliasPath("fingerprint", "cutoffs"))
    questions: list[dict[str, str]]
    runs: list[_Run] = Field(min_length=1)


def earlier_run(path: Path, dataset: Dataset, *, k: int) -> Run:
    """Return the first run of a report that `amem eval recall --json` printed, named by its file.

    k: how far down the other runs look; ranks beyond it do not count.
    Raises InvalidInputError for any other file, and for a report on other questions.
    """
    try:
        report = _Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        wrong = error.errors()[0]["msg"]
        raise InvalidInputError(f"{path} is no report; --json prints one ({wrong}).") from error
    if report.sha256 != dataset.digest or report.questions != _questions_of(dataset):
        raise InvalidInputError(
            f"{path} is about other questions; compare reports on the same file and --limit."
        )
    deepest = max(report.cutoffs)
    if deepest < k:
        raise InvalidInputError(
            f"{path} looked at {deepest} places only; compare with -k {deepest}."
        )
    run = report.runs[0]
    ranks = tuple(
        tuple(None if rank is None or rank > k else rank for rank in ranks) for ranks in run.ranks
    )
    return Run(path.stem, ranks, tuple(run.took))
