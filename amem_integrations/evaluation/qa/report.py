"""The report of question answering: a run with its whole set-up, beside the paper's numbers."""

import json
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from amem_integrations import __version__
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.metrics import library
from amem_integrations.evaluation.qa import readers
from amem_integrations.evaluation.qa.model import LimitedModel
from amem_integrations.evaluation.qa.run import Asked
from amem_integrations.evaluation.qa.scores import Scored
from amem_integrations.evaluation.qa.system import Budget, Means
from amem_integrations.evaluation.report import CORE, plain

_LIBRARIES = ("nltk", "rouge-score", "langchain-core", "langgraph", "fastembed")
_METHODS: Mapping[str, str] = {
    "full-context": "LoCoMo",
    "amem": "A-MEM",
    "amem-staged": "A-MEM",
    "amem-fused": "A-MEM",
    "amem-batched": "A-MEM",
    "amem-without-evolution": "w/o ME",
    "amem-without-both": "w/o LG & ME",
}
"""The paper's name of a system that it has, too."""
_DEFAULT_MODEL = "GPT-4o-mini"
_MODELS = (
    (r"gpt-4o-mini", "GPT-4o-mini"),
    (r"gpt-4o", "GPT-4o"),
    (r"qwen-?2\.5.*1\.5b", "Qwen2.5-1.5b"),
    (r"qwen-?2\.5.*3b", "Qwen2.5-3b"),
    (r"llama-?3\.2.*1b", "Llama3.2-1b"),
    (r"llama-?3\.2.*3b", "Llama3.2-3b"),
)


def paper_model(name: str | None) -> str | None:
    """Return the paper's name of a model, or None if it is none of the paper's."""
    found = (model for pattern, model in _MODELS if name and re.search(pattern, name, re.I))
    return next(found, None)


def paper_row(model: str, system: str) -> Mapping[str, Any] | None:
    """Return what the A-Mem paper reports of a system (arXiv 2502.12110, tables 1 and 3).

    "f1" and "bleu1" by category, in percent, and "tokens"; None if it has no such system.
    """
    return _paper()[model].get(_METHODS.get(system))


@cache
def _paper() -> Mapping[str, Any]:
    return json.loads((files(__package__ or "") / "paper.json").read_text("utf-8"))


def as_dict(
    scored: Sequence[Scored],
    asked: Asked,
    setup: Mapping[str, Any],
    model: LimitedModel | None = None,
) -> dict[str, Any]:
    """Return the whole report, ready for JSON: no text of the data.

    Measures are between 0 and 1; tokens are a question's; usage is of this run alone.
    """
    return {
        "setup": dict(setup),
        "systems": [
            {
                "system": result.system,
                "k": result.budget.k,
                "tokens": result.budget.tokens,
                "failed": dict(result.failed),
                "estimates": plain(result.estimates),
                "difference": plain(result.difference),
            }
            for result in scored
        ],
        "missing": asked.missing,
        "usage": None if model is None else dict(model.usage),
    }


def setup_of(
    means: Means,
    reader: readers.Reader,
    systems: Sequence[str],
    budgets: Sequence[Budget],
    model: LimitedModel | None = None,
    *,
    judged: bool = False,
) -> dict[str, Any]:
    """Return everything that the numbers depend on, as far as it can be told."""
    dataset = means.dataset
    prompts: dict[str, str] = {}
    if isinstance(reader, readers.ModelReader):
        prompts |= {"rules": readers.RULES, **readers.PROMPTS}
    if judged:
        prompts["judge"] = readers.JUDGE_RULES
    return {
        "version": __version__,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "data": {**dataset.facts, "defects": dict(dataset.defects)},
        "systems": list(systems),
        "budgets": [asdict(budget) for budget in budgets],
        "reader": reader.name,
        "prompts": prompts,
        "model": None if model is None else model.name,
        "reported": [] if model is None else sorted(model.reported),
        "embedder": means.embedder.name,
    }


def labels_of(report: Mapping[str, Any]) -> list[str]:
    """Return the systems' names, with k if there are several."""
    several = len({result["k"] for result in report["systems"]}) > 1
    return [
        f"{result['system']}, k={result['k']}" if several else result["system"]
        for result in report["systems"]
    ]


def groups_of(report: Mapping[str, Any]) -> list[str]:
    """Return the categories that there are."""
    found = dict.fromkeys(group for each in report["systems"] for group in each["estimates"])
    return [group for group in found if group != CORE]


def save(report: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write report.json and report.html; return their paths. Raises InvalidInputError."""
    written = {"report.json": json.dumps(report, indent=1), "report.html": page(report)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            (directory / name).write_text(text, "utf-8")
    except OSError as error:
        raise InvalidInputError(f"{directory} cannot be written: {error.strerror}.") from error
    return [directory / name for name in written]


def page(report: Mapping[str, Any]) -> str:
    """Return the report as one HTML page that needs nothing else."""
    jinja2 = library("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("amem_integrations.evaluation.qa", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    setup = report["setup"]
    names = [*setup["reported"], setup["model"]]
    known = next((model for name in names if (model := paper_model(name))), None)
    return environment.get_template("report.html.jinja").render(
        report=report,
        known=known,
        model=known or _DEFAULT_MODEL,
        groups=groups_of(report),
        labels=labels_of(report),
        rows=list(_rows(report, known or _DEFAULT_MODEL)),
    )


def _rows(report: Mapping[str, Any], model: str) -> Iterator[dict[str, Any]]:
    """Yield rows of F1 and BLEU-1 by category, in percent, each followed by the paper's own."""
    last = {result["system"]: result for result in report["systems"]}
    columns = [(group, measure) for group in groups_of(report) for measure in ("f1", "bleu1")]
    for label, result in zip(labels_of(report), report["systems"], strict=True):
        estimates = result["estimates"]
        found = [estimates.get(group, {}).get(measure) for group, measure in columns]
        values = [None if each is None else 100 * each["mean"] for each in found]
        tokens = estimates.get(CORE, {}).get("tokens", {}).get("mean")
        yield {"name": label, "values": values, "tokens": tokens, "paper": False}
        row = paper_row(model, result["system"])
        if row is not None and result is last[result["system"]]:
            yield {
                "name": f"{_METHODS[result['system']]}, {model}",
                "values": [row[measure].get(group) for group, measure in columns],
                "tokens": row.get("tokens"),
                "paper": True,
            }
