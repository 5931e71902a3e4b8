"""The reports of `amem eval` as tables of percentages, for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from amem_integrations.cli.terminal import plain

_MAIN = "recall@10"
_WITHOUT = "without "
# In which group of questions, and by what, the worth of a signal is shown, where there are such.
_WORTH = (("core", "recall@5"), ("core", _MAIN), ("multi-hop", _MAIN))
_CATEGORIES = {
    "multi-hop": "multi",
    "temporal": "temp",
    "open-domain": "open",
    "single-hop": "single",
    "adversarial": "adv",
}
_SHORT = {"recall": "R", "mrr": "MRR", "ndcg": "nDCG", "all": "all"}

Report = Mapping[str, Any]


def recall(report: Report) -> RenderableType:
    """Show the report that `evaluation.report.as_dict` makes."""
    parts: list[RenderableType] = [_scores(report), *_dim(*_legend(report)), ""]
    if any(run["name"].startswith(_WITHOUT) for run in report["runs"]):
        parts += [
            _worth(report),
            *_dim("What each adds, paired by question, and its 95% interval."),
        ]
        parts += [""]
    return Group(*parts, _times(report), "", _facts(_recall_facts(report)))


def abstention(report: Report) -> RenderableType:
    """Show the report that `evaluation.abstention.as_dict` makes."""
    table = _table("min_relevance", "empty, other's", "empty, own", "evidence lost")
    for point in report["points"]:
        shares = (point[name] for name in ("empty", "empty_own", "lost"))
        table.add_row(
            f"{point['threshold']:.3f}",
            *(f"{100 * share['mean']:.1f}% {_bounds(share)}" for share in shares),
        )
    legend = _dim(
        "Empty: questions whose best hit is less relevant than that, so that nothing is",
        "found, asked of another conversation and of their own. Lost: those among the own",
        "ones whose evidence had been found.",
    )
    return Group(table, *legend, "", _facts(_recall_facts(report)))


def links(report: Report) -> RenderableType:
    """Show what `evaluation.links.score_links` found."""
    table = _table("precision", "recall", "F1", "weight, true", "weight, false")
    weights = (report["weight_true"], report["weight_false"])
    table.add_row(
        *(f"{100 * report[name]:.1f}%" for name in ("precision", "recall", "f1")),
        *("none" if weight is None else f"{weight:.2f}" for weight in weights),
    )
    analyst = "statistics" if report["model"] is None else plain(report["model"])
    parts: list[RenderableType] = [
        table,
        *_dim(
            f"{report['true']} of {report['links']} links, made by {analyst}, are between notes of",
            f"one matter; {report['found']} of {report['expected']} times that a matter is taken",
            "up again, the note is linked to an earlier one of it.",
        ),
    ]
    if report["unformed"]:
        parts.append(f"{report['unformed']} of {report['notes']} notes could not be formed.")
    for link in report["false"]:
        false = f"  false: {link['source']} to {link['to']}, {link['weight']:.2f} "
        parts.append(Text.assemble(false, (plain(link["reason"]), "dim")))
    return Group(*parts)


def answers(report: Report) -> RenderableType:
    """Show what `evaluation.qa.report.as_dict` makes: F1, evidence, and what it took."""
    from amem_integrations.evaluation.qa.report import groups_of, labels_of
    from amem_integrations.evaluation.report import CORE

    if not report["systems"]:
        return "Nothing is answered yet."
    labels, groups = labels_of(report), groups_of(report)
    scores = _table("F1", "core, 95%", *(_CATEGORIES.get(group, group) for group in groups))
    evidence = _table("core", "ahead", "LoCoMo", "recall", "all", "tokens", "share", "failed")
    for label, system in zip(labels, report["systems"], strict=True):
        estimates = system["estimates"]
        core = estimates.get(CORE, {})
        scores.add_row(
            plain(label),
            _interval(core.get("f1")),
            *(_percent(estimates.get(group, {}).get("f1")) for group in groups),
        )
        tokens = core.get("tokens")
        failed = sum(count for group, count in system["failed"].items() if group != CORE)
        evidence.add_row(
            plain(label),
            _interval(system["difference"].get(CORE, {}).get("f1"), signed=True),
            *(_percent(core.get(measure)) for measure in ("f1_official", "recall", "all")),
            "" if tokens is None else f"{tokens['mean']:,.0f}",
            _percent(core.get("share")),
            str(failed or ""),
        )
    return Group(
        scores,
        *_dim("F1 in percent as the paper counts it; core is all but adversarial, with its 95%"),
        *_dim("interval."),
        "",
        evidence,
        *_dim("LoCoMo's own F1, abstaining included. Ahead: how far the first is, in core F1,"),
        *_dim("paired."),
        "",
        _facts(_answer_facts(report)),
    )


def forecast(report: Sequence[Report]) -> RenderableType:
    """Show what `evaluation.qa.run.Run.forecast` expects."""
    table = _table("system", "calls", "tokens in", "tokens out")
    names = ("calls", "tokens_in", "tokens_out")
    for row in report:
        table.add_row(row["system"], *(f"{row[name]:,}" for name in names))
    total = [sum(row[name] for row in report) for name in names]
    table.add_row(Text("in all", "bold"), *(f"{count:,}" for count in total))
    return Group(table, *_dim("At most, about; what is kept already is not asked again."))


def _scores(report: Report) -> Table:
    first, *_ = runs = report["runs"]
    metrics = list(next(iter(first["estimates"].values())))
    table = _table("%", *map(_short, metrics), _short(_MAIN) + ", 95%")
    for group, estimates in first["estimates"].items():
        count = estimates[_MAIN]["count"]
        table.add_row(Text(f"{plain(group)} ({count:,})", "bold"))
        for run in runs:
            values = (f"{100 * run['estimates'][group][metric]['mean']:.1f}" for metric in metrics)
            if run is first:
                last = _bounds(estimates[_MAIN])
            else:
                last = _interval(run["difference"][group][_MAIN], signed=True)
            table.add_row(f"  {plain(run['name'])}", *values, last)
    return table


def _worth(report: Report) -> Table:
    first, *others = report["runs"]
    columns = [
        (group, metric) for group, metric in _WORTH if metric in first["estimates"].get(group, {})
    ]
    table = _table("worth of", *(f"{_short(metric)}, {group}" for group, metric in columns))
    for run in others:
        if run["name"].startswith(_WITHOUT):
            added = (
                _interval(run["difference"][group][metric], signed=True)
                for group, metric in columns
            )
            table.add_row(plain(run["name"][len(_WITHOUT) :]), *added)
    return table


def _short(metric: str) -> str:
    name, at, k = metric.partition("@")
    return f"{_SHORT.get(name, name)}{at}{k}" if name != "ndcg" else _SHORT[name]


def _legend(report: Report) -> Iterator[str]:
    name = plain(report["runs"][0]["name"])
    main = _short(_MAIN)
    yield f"Last column: the 95% interval of {main}, drawing conversations."
    if len(report["runs"]) > 1:
        yield f"In other lines: how far {name} is ahead of that line, paired by question."


def _times(report: Report) -> Table:
    table = _table("ms a question", "p50", "p95")
    for run in report["runs"]:
        took = run["milliseconds"]
        table.add_row(plain(run["name"]), f"{took['p50']:.2f}", f"{took['p95']:.2f}")
    took = report["embedding_milliseconds"]
    table.add_row(
        Text("embedding it, for each of them", "dim"), f"{took['p50']:.2f}", f"{took['p95']:.2f}"
    )
    return table


def _recall_facts(report: Report) -> Iterator[tuple[str, str]]:
    facts, filling = report["fingerprint"], report["filling"]
    data, usage = facts["data"], filling["usage"]
    yield (
        "data",
        f"{data['format']}, {data['conversations']} conversations, {data['turns']:,} turns, "
        f"{data['questions']:,} questions, sha256 {data['sha256'][:12]}",
    )
    defects: Mapping[str, int] = report["defects"]
    for kind, count in defects.items():
        yield "", f"{kind}: {count:,}"
    statuses: Mapping[str, int] = filling["notes"]
    yield (
        "notes",
        ", ".join(f"{count:,} {status}" for status, count in statuses.items())
        + f"; formation: {facts['analyst'] or 'off'}; filled in {filling['seconds']:.1f} s",
    )
    if usage["calls"]:
        yield (
            "model calls",
            f"{usage['calls']:,}, {usage['failures']:,} failed; {usage['tokens_in']:,} tokens in, "
            f"{usage['tokens_out']:,} out",
        )
    yield "encoders", f"{facts['embedder']}; {facts['sparse']}; {facts['engine']}"
    options: Mapping[str, Any] = facts["options"]
    chosen = ", ".join(f"{name}={value}" for name, value in options.items())
    yield "recall", f"hops={facts['hops']}, {chosen}"
    yield "fingerprint", f"{facts['digest']}, amem-integrations {facts['version']}"


def _answer_facts(report: Report) -> Iterator[tuple[str, str]]:
    setup, usage = report["setup"], report["usage"]
    data = setup["data"]
    yield (
        "data",
        f"{data['format']}, {data['conversations']} conversations, {data['questions']:,} "
        f"questions, sha256 {data['sha256'][:12]}",
    )
    for kind, count in data["defects"].items():
        yield "", f"{kind}: {count:,}"
    yield "reader", f"{setup['reader']}; embedder {setup['embedder']}"
    if usage is not None:
        yield (
            "model",
            f"{usage['calls']:,} calls in this run, {usage['tokens_in']:,} tokens in, "
            f"{usage['tokens_out']:,} out",
        )
    if report["missing"]:
        yield "missing", f"{report['missing']:,} answers, as a limit was reached"


def _facts(rows: Iterator[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in rows:
        grid.add_row(Text(name, "dim"), Text(plain(value)))
    return grid


def _dim(*lines: str) -> list[Text]:
    return [Text(line, "dim") for line in lines]


def _table(first: str, *columns: str) -> Table:
    """A table of numbers; where it is narrow, the names in its first column are cut."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="ellipsis")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _percent(estimate: Report | None) -> str:
    return "" if estimate is None else f"{100 * estimate['mean']:.1f}"


def _bounds(estimate: Report) -> str:
    if estimate["low"] is None:
        return ""
    return f"[{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"


def _interval(estimate: Report | None, *, signed: bool = False) -> str:
    if estimate is None:
        return ""
    return f"{100 * estimate['mean']:{'+' if signed else ''}.1f} {_bounds(estimate)}".rstrip()
