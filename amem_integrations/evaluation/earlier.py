"""Runs of earlier reports, to compare with: what another version or another model found."""

import json
from pathlib import Path
from typing import Any, cast

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Dataset
from amem_integrations.evaluation.fields import Fields
from amem_integrations.evaluation.metrics import Ranks
from amem_integrations.evaluation.recall import Run
from amem_integrations.evaluation.report import questions_of


def earlier_run(path: Path, dataset: Dataset, *, k: int) -> Run:
    """The first run of a report that `amem eval recall --json` printed, called after its file.

    k: how far down the other runs look; ranks beyond it do not count.
    Raises InvalidInputError for anything else, and for a report on other questions.
    """
    try:
        report = Fields.of(json.loads(path.read_text("utf-8")), str(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidInputError(f"{path} is no report; --json prints one.") from error
    facts = Fields.of(report.value.get("fingerprint"), f"{path}, fingerprint")
    data = Fields.of(facts.value.get("data"), f"{path}, data")
    if data.text("sha256") != dataset.digest or report.list("questions") != questions_of(dataset):
        raise InvalidInputError(
            f"{path} is about other questions; compare reports on the same file and --limit."
        )
    looked = max(map(int, facts.ids("cutoffs")), default=0)
    if looked < k:
        raise InvalidInputError(f"{path} looked at {looked} places only; compare with -k {looked}.")
    first = Fields.of(next(iter(report.list("runs")), None), f"{path}, run 1")
    ranks = tuple(_ranks(each, first, k) for each in first.list("ranks"))
    took = first.list("took")
    if len(ranks) != len(took) or [*map(len, ranks)] != [len(q.evidence) for _, q in dataset.asked]:
        raise first.wrong("ranks", "a list with the ranks of each question's evidence")
    if not all(isinstance(each, int | float) for each in took):
        raise first.wrong("took", "a list of milliseconds")
    return Run(path.stem, ranks, tuple(map(float, took)))


def _ranks(value: Any, run: Fields, k: int) -> Ranks:
    if not isinstance(value, list):
        raise run.wrong("ranks", "a list of lists")
    ranks: list[int | None] = []
    for rank in cast("list[object]", value):
        if rank is not None and (not isinstance(rank, int) or rank < 1):
            raise run.wrong("ranks", "lists of ranks from 1, or null")
        ranks.append(None if rank is None or rank > k else rank)
    return tuple(ranks)
