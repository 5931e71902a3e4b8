"""The report of question answering: a run with its whole set-up, beside the paper's tables."""

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
from amem_integrations.evaluation.qa.model import MeteredModel, Price
from amem_integrations.evaluation.qa.run import Asked
from amem_integrations.evaluation.qa.scoring import (
    Scored,
    mean_ranks,
    sort_categories,
    unavailable,
)
from amem_integrations.evaluation.qa.system import Budget, Means
from amem_integrations.evaluation.report import CORE, plain

_LIBRARIES = ("nltk", "rouge-score", "langchain-core", "langgraph", "fastembed")
METHODS: Mapping[str, str] = {
    "full-context": "LoCoMo",
    "readagent": "ReadAgent",
    "memorybank": "MemoryBank",
    "memgpt": "MemGPT",
    "amem": "A-MEM",
    "amem-staged": "A-MEM",
    "amem-fused": "A-MEM",
    "amem-batched": "A-MEM",
}
"""The paper's name of a system that it has, too."""
ABLATIONS: Mapping[str, str] = {
    "amem": "full",
    "amem-without-evolution": "w/o ME",
    "amem-without-both": "w/o LG & ME",
}
SWEPT_MODEL = "GPT-4o-mini"
_MODELS = (
    (r"gpt-4o-mini", "GPT-4o-mini"),
    (r"gpt-4o", "GPT-4o"),
    (r"qwen-?2\.5.*1\.5b", "Qwen2.5-1.5b"),
    (r"qwen-?2\.5.*3b", "Qwen2.5-3b"),
    (r"llama-?3\.2.*1b", "Llama3.2-1b"),
    (r"llama-?3\.2.*3b", "Llama3.2-3b"),
)
_TABLES = (
    ("F1 and BLEU-1, as in the paper's Table 1", "table1", ("f1", "bleu1")),
    ("Ablation, as in Table 3", "table3", ("f1", "bleu1")),
    ("ROUGE-2 and ROUGE-L, as in Table 5", "table5", ("rouge2", "rougeL")),
    ("METEOR and similarity of sentences, as in Table 6", "table6", ("meteor", "similarity")),
)
# Okabe and Ito's colours, which most eyes can tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5b5b5b", "#000000")


@cache
def paper() -> Mapping[str, Any]:
    """Return what the A-Mem paper reports (arXiv 2502.12110), in percent, by model and method.

    By name: "table1", "table3", "table5", "table6", "table8", "figure3".
    """
    return json.loads((files(__package__ or "") / "paper.json").read_text("utf-8"))


def paper_model(name: str | None) -> str | None:
    """Return the paper's name of a model, or None if it is none of the paper's."""
    found = (model for pattern, model in _MODELS if name and re.search(pattern, name, re.I))
    return next(found, None)


def paper_row(table: str, model: str, system: str) -> Mapping[str, Any] | None:
    """Return the paper's measures of a system in table 1, 3, 5 or 6; None if it has none."""
    if table == "table3":
        return paper()[table].get(ABLATIONS.get(system))
    return paper()[table].get(model, {}).get(METHODS.get(system))


def as_dict(
    scored: Sequence[Scored],
    asked: Asked,
    setup: Mapping[str, Any],
    model: MeteredModel | None = None,
    price: Price | None = None,
) -> dict[str, Any]:
    """Return the whole report, ready for JSON: no text of the data.

    Measures are between 0 and 1; tokens are a question's.
    """
    usage: dict[str, Any] | None = None
    if model is not None:
        usage = dict(model.usage())
        usd = None if price is None else price.of(usage["tokens_in"], usage["tokens_out"])
        usage["usd"] = usd
    return {
        "setup": dict(setup),
        "systems": [
            {
                "system": result.system,
                "k": result.budget.k,
                "tokens": result.budget.tokens,
                "rank": rank,
                "failed": dict(result.failed),
                "estimates": plain(result.estimates),
                "difference": plain(result.difference),
            }
            for result, rank in zip(scored, mean_ranks(scored), strict=True)
        ],
        "missing": asked.missing,
        "unavailable": unavailable(),
        "usage": usage,
        "sweep": sweep(scored),
    }


def sweep(scored: Sequence[Scored]) -> dict[str, dict[str, Any]]:
    """Return by system and category, where there are several k: F1 by k, the best, the advised.

    Advised is the least k whose F1 is within the interval of the best one: what is beyond it
    costs tokens and cannot be told from chance.
    """
    runs: dict[str, dict[int, Scored]] = {}
    for result in scored:
        runs.setdefault(result.system, {})[result.budget.k] = result
    found: dict[str, dict[str, Any]] = {}
    for system, by_k in runs.items():
        if len(by_k) < 2:
            continue
        for group in dict.fromkeys(group for each in by_k.values() for group in each.estimates):
            f1 = {k: result.estimates[group]["f1"] for k, result in by_k.items()}
            best = max(f1, key=lambda k: (f1[k].mean, -k))
            low = f1[best].low
            least = f1[best].mean if low is None else low
            found.setdefault(system, {})[group] = {
                "f1": {str(k): estimate.mean for k, estimate in f1.items()},
                "best": best,
                "advised": min(k for k, estimate in f1.items() if estimate.mean >= least),
            }
    return found


def setup_of(
    means: Means,
    reader: readers.Reader,
    systems: Sequence[str],
    budgets: Sequence[Budget],
    model: MeteredModel | None = None,
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
        "reported": [] if model is None else model.reported(),
        "embedder": means.embedder.name,
        "seed": means.seed,
    }


def labels_of(report: Mapping[str, Any]) -> list[str]:
    """Return the systems' names, with k if there are several."""
    several = len({result["k"] for result in report["systems"]}) > 1
    return [
        f"{result['system']}, k={result['k']}" if several else result["system"]
        for result in report["systems"]
    ]


def groups_of(report: Mapping[str, Any]) -> list[str]:
    """Return the categories that there are, LoCoMo's first."""
    return sort_categories(
        {group for result in report["systems"] for group in result["estimates"]} - {CORE}
    )


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
    """Return the report as one HTML page that needs nothing else, beside the paper's tables."""
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
    model = known or SWEPT_MODEL
    figures = [draw_categories(report, model)]
    if report["sweep"]:
        figures.append(draw_sweep(report))
    return environment.get_template("report.html.jinja").render(
        report=report,
        known=known,
        model=model,
        groups=groups_of(report),
        labels=labels_of(report),
        paper=paper(),
        tables=[
            {"heading": heading, "name": table, "measures": measures, "rows": rows}
            for heading, table, measures in _TABLES
            if (rows := list(_rows(report, table, measures, model)))
        ],
        figures=[
            figure.to_html(full_html=False, include_plotlyjs=place == 0, div_id=f"figure{place}")
            for place, figure in enumerate(figures)
        ],
    )


def _rows(
    report: Mapping[str, Any], table: str, measures: Sequence[str], model: str
) -> Iterator[dict[str, Any]]:
    """Yield rows of two measures by category, in percent, each followed by the paper's own."""
    last = {result["system"]: result for result in report["systems"]}
    if table == "table3" and not set(last) & set(ABLATIONS) - {"amem"}:
        return
    groups = groups_of(report)
    for label, result in zip(labels_of(report), report["systems"], strict=True):
        system = result["system"]
        if table == "table3" and not system.startswith("amem"):
            continue
        found = [result["estimates"].get(group, {}).get(m) for group in groups for m in measures]
        values = [None if each is None else 100 * each["mean"] for each in found]
        tokens = result["estimates"].get(CORE, {}).get("tokens", {}).get("mean")
        yield {"name": label, "values": values, "rank": result["rank"], "tokens": tokens}
        row = paper_row(table, model, system)
        if row is not None and result is last[system]:
            method = ABLATIONS[system] if table == "table3" else METHODS[system]
            yield {
                "name": f"{method}, {SWEPT_MODEL if table == 'table3' else model}",
                "values": [row[m].get(group) for group in groups for m in measures],
                "rank": row.get("rank"),
                "tokens": row.get("tokens"),
                "paper": True,
            }


def draw_categories(report: Mapping[str, Any], model: str) -> Any:
    """Draw F1 of each system by category; whiskers are 95% intervals, diamonds the paper's.

    Of a system that was asked with several k, the first.
    """
    systems: dict[str, Any] = {}
    for result in report["systems"]:
        systems.setdefault(result["system"], result["estimates"])
    groups = groups_of(report)
    figure = _figure("F1 in percent by category of question", scattermode="group")
    for (name, estimates), colour in zip(systems.items(), _COLOURS * 3, strict=False):
        found = [(group, estimates[group]["f1"]) for group in groups if group in estimates]
        means = [100 * estimate["mean"] for _, estimate in found]
        up, down = (
            [100 * abs((each[end] or each["mean"]) - each["mean"]) for _, each in found]
            for end in ("high", "low")
        )
        figure.add_scatter(
            x=[group for group, _ in found],
            y=means,
            error_y={"array": up, "arrayminus": down},
            mode="markers",
            marker={"color": colour, "size": 10},
            name=name,
            offsetgroup=name,
        )
        row = (paper_row("table1", model, name) or {}).get("f1", {})
        figure.add_scatter(
            x=[group for group in groups if group in row],
            y=[row[group] for group in groups if group in row],
            mode="markers",
            marker={"color": colour, "size": 11, "symbol": "diamond-open"},
            name=f"{METHODS.get(name)} of the paper, {model}",
            offsetgroup=name,
            showlegend=bool(row),
        )
    return figure


def draw_sweep(report: Mapping[str, Any]) -> Any:
    """Draw F1 against k for each system and category, beside the paper's figure 3."""
    figure = _figure("F1 in percent against k, by category of question", xaxis={"title": "k"})
    curves = {
        (f"{system}, {group}", group): {int(k): 100 * f1 for k, f1 in by_group[group]["f1"].items()}
        for system, by_group in report["sweep"].items()
        for group in groups_of(report)
    }
    for group, values in paper()["figure3"]["f1"].items():
        if group in groups_of(report):
            by_k = dict(zip(paper()["figure3"]["k"], values, strict=True))
            curves[f"the paper's A-MEM, {SWEPT_MODEL}, {group}", group] = by_k
    colours = dict(zip(groups_of(report), _COLOURS * 3, strict=False))
    for (name, group), by_k in curves.items():
        style = {"color": colours[group], "dash": "dot" if name.startswith("the paper's") else None}
        figure.add_scatter(x=sorted(by_k), y=[by_k[k] for k in sorted(by_k)], name=name, line=style)
    return figure


def _figure(title: str, **layout: Any) -> Any:
    return library("plotly.graph_objects").Figure(
        layout={"title": title, "height": 460, "yaxis": {"range": [0, 100]}, **layout}
    )
