"""What `amem eval qa` shows in a terminal: F1 by category, evidence, and what it took."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from amem_integrations.cli import render
from amem_integrations.evaluation.qa.report import groups_of, labels_of
from amem_integrations.evaluation.qa.scoring import CORE

_SHORT = {
    "multi-hop": "multi",
    "temporal": "temp",
    "open-domain": "open",
    "single-hop": "single",
    "adversarial": "adv",
}


def show(console: Console, report: Mapping[str, Any]) -> None:
    """Print what `evaluation.qa.report.as_dict` makes."""
    systems = report["systems"]
    if not systems:
        console.print("Nothing is answered yet.")
        return
    console.print(_answers(report))
    console.print(
        "F1 in percent as the paper counts it; core is all but adversarial, with its 95% interval.",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    console.print(_evidence(report))
    first = render.plain(labels_of(report)[0])
    console.print(
        f"LoCoMo's own F1, abstaining included. Ahead: how far {first} is, in core F1, paired.",
        style="dim",
        soft_wrap=True,
    )
    console.print()
    for name, value in _facts(report):
        console.print(Text.assemble((f"{name:<9}", "dim"), render.plain(value)), soft_wrap=True)


def show_forecast(console: Console, forecast: Sequence[Mapping[str, Any]]) -> None:
    """Print what `evaluation.qa.run.Run.forecast` expects."""
    table = _table("system", "calls", "tokens in", "tokens out", "USD")
    names = ("calls", "tokens_in", "tokens_out")
    for each in forecast:
        usd = "" if each["usd"] is None else f"{each['usd']:.2f}"
        table.add_row(each["system"], *(f"{each[name]:,}" for name in names), usd)
    total = [sum(each[name] for each in forecast) for name in names]
    priced = [each["usd"] for each in forecast if each["usd"] is not None]
    usd = f"{sum(priced):.2f}" if priced else ""
    table.add_row(Text("in all", "bold"), *(f"{each:,}" for each in total), usd)
    console.print(table)
    console.print("At most, about; what is kept already is not asked again.", style="dim")


def _answers(report: Mapping[str, Any]) -> Table:
    groups = groups_of(report)
    table = _table("F1", "core, 95%", *(_SHORT.get(group, group) for group in groups))
    for label, each in zip(labels_of(report), report["systems"], strict=True):
        estimates = each["estimates"]
        row = [_percent(estimates.get(group, {}).get("f1")) for group in groups]
        core = estimates.get(CORE, {}).get("f1")
        table.add_row(render.plain(label), _interval(core), *row)
    return table


def _evidence(report: Mapping[str, Any]) -> Table:
    table = _table("core", "ahead", "LoCoMo", "recall", "all", "tokens", "share", "failed")
    for label, each in zip(labels_of(report), report["systems"], strict=True):
        core = each["estimates"].get(CORE, {})
        ahead = each["difference"].get(CORE, {}).get("f1")
        tokens = core.get("tokens")
        failed = sum(count for group, count in each["failed"].items() if group != CORE)
        table.add_row(
            render.plain(label),
            _interval(ahead, signed=True),
            *(_percent(core.get(measure)) for measure in ("f1_official", "recall", "all")),
            "" if tokens is None else f"{tokens['mean']:,.0f}",
            _percent(core.get("share")),
            str(failed or ""),
        )
    return table


def _facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    setup, usage = report["setup"], report["usage"]
    data = setup["data"]
    facts = [
        (
            "data",
            f"{data['format']}, {data['conversations']} conversations, {data['questions']:,} "
            f"questions, sha256 {data['sha256'][:12]}",
        ),
        *(("", f"{kind}: {count:,}") for kind, count in data["defects"].items()),
        ("reader", f"{setup['reader']}; embedder {setup['embedder']}"),
    ]
    if usage is not None:
        usd = "" if usage["usd"] is None else f", ${usage['usd']:.2f}"
        facts.append(
            (
                "model",
                f"{usage['calls']:,} calls, {usage['tokens_in']:,} tokens in, "
                f"{usage['tokens_out']:,} out{usd}",
            )
        )
    if report["missing"]:
        facts.append(("missing", f"{report['missing']:,} answers, as a limit was reached"))
    return [*facts, *((name, f"n/a. {why}") for name, why in report["unavailable"].items())]


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    first, *others = columns
    table.add_column(first, overflow="ellipsis")
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _percent(estimate: Mapping[str, Any] | None) -> str:
    return "" if estimate is None else f"{100 * estimate['mean']:.1f}"


def _interval(estimate: Mapping[str, Any] | None, *, signed: bool = False) -> str:
    if estimate is None:
        return ""
    mean = f"{100 * estimate['mean']:{'+' if signed else ''}.1f}"
    if estimate["low"] is None:
        return mean
    return f"{mean} [{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"
