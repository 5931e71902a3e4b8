"""What `amem eval` shows in a terminal: its report as tables of percentages."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from amem_integrations.cli import render

_MAIN = "recall@10"
_WITHOUT = "without "
# In which group of questions, and by what, the worth of a signal is shown, where there are such.
_WORTH = (("core", "recall@5"), ("core", _MAIN), ("multi-hop", _MAIN))
_SHORT = {"recall": "R", "mrr": "MRR", "ndcg": "nDCG", "all": "all"}

Report = Mapping[str, Any]


def show(console: Console, report: Report) -> None:
    """Print the report that `evaluation.report.as_dict` makes."""
    console.print(_scores(report))
    for line in _legend(report):
        console.print(line, style="dim")
    console.print()
    if any(run["name"].startswith(_WITHOUT) for run in report["runs"]):
        console.print(_worth(report))
        console.print("What each adds, paired by question, and its 95% interval.", style="dim")
        console.print()
    console.print(_times(report))
    console.print()
    console.print(_facts(report))


def show_abstention(console: Console, report: Report) -> None:
    """Print the report that `evaluation.abstention.as_dict` makes."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("min_relevance", "empty, other's", "empty, own", "evidence lost"):
        table.add_column(name, justify="right", no_wrap=True)
    for point in report["points"]:
        shares = (point[name] for name in ("empty", "empty_own", "lost"))
        table.add_row(
            f"{point['threshold']:.3f}",
            *(f"{100 * share['mean']:.1f}% {_interval(share)}" for share in shares),
        )
    console.print(table)
    for line in (
        "Empty: questions whose best hit is less relevant than that, so that nothing is",
        "found, asked of another conversation and of their own. Lost: those among the own",
        "ones whose evidence had been found.",
    ):
        console.print(line, style="dim")
    console.print()
    console.print(_facts(report))


def show_links(console: Console, report: Report) -> None:
    """Print what `evaluation.links.score_links` found."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("precision", "recall", "F1", "weight, true", "weight, false"):
        table.add_column(name, justify="right", no_wrap=True)
    weights = (report["weight_true"], report["weight_false"])
    table.add_row(
        *(f"{100 * report[name]:.1f}%" for name in ("precision", "recall", "f1")),
        *("none" if each is None else f"{each:.2f}" for each in weights),
    )
    console.print(table)
    who = "statistics" if report["model"] is None else render.plain(report["model"])
    for line in (
        f"{report['true']} of {report['links']} links, made by {who}, are between notes of one",
        f"matter; {report['found']} of {report['expected']} times that a matter is taken up again,",
        "the note is linked to an earlier one of it.",
    ):
        console.print(line, style="dim")
    if report["unformed"]:
        console.print(f"{report['unformed']} of {report['notes']} notes could not be formed.")
    for link in report["false"]:
        console.print(f"  false: {link['source']} to {link['to']}, {link['weight']:.2f}", end=" ")
        console.print(Text(render.plain(link["reason"]), "dim"))


def _scores(report: Report) -> Table:
    first, *_ = runs = report["runs"]
    metrics = list(next(iter(first["estimates"].values())))
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    # Where it is narrow, names give way to numbers.
    table.add_column("%", overflow="ellipsis")
    for metric in metrics:
        table.add_column(_short(metric), justify="right", no_wrap=True)
    table.add_column(_short(_MAIN) + ", 95%", justify="right", no_wrap=True)
    for group, estimates in first["estimates"].items():
        count = estimates[_MAIN]["count"]
        table.add_row(Text(f"{render.plain(group)} ({count:,})", "bold"))
        for run in runs:
            values = (f"{100 * run['estimates'][group][metric]['mean']:.1f}" for metric in metrics)
            if run is first:
                last = _interval(estimates[_MAIN])
            else:
                ahead = run["difference"][group][_MAIN]
                last = _difference(ahead)
            table.add_row(f"  {render.plain(run['name'])}", *values, last)
    return table


def _worth(report: Report) -> Table:
    first, *others = report["runs"]
    columns = [each for each in _WORTH if each[1] in first["estimates"].get(each[0], {})]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("worth of", overflow="ellipsis")
    for group, metric in columns:
        table.add_column(f"{_short(metric)}, {group}", justify="right", no_wrap=True)
    for run in others:
        if run["name"].startswith(_WITHOUT):
            added = (run["difference"][group][metric] for group, metric in columns)
            table.add_row(render.plain(run["name"][len(_WITHOUT) :]), *map(_difference, added))
    return table


def _difference(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['mean']:+.1f} {_interval(estimate)}"


def _short(metric: str) -> str:
    name, at, k = metric.partition("@")
    return f"{_SHORT.get(name, name)}{at}{k}" if name != "ndcg" else _SHORT[name]


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None:
        return ""
    return f"[{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"


def _legend(report: Report) -> Iterator[str]:
    name = render.plain(report["runs"][0]["name"])
    main = _short(_MAIN)
    yield f"Last column: the 95% interval of {main}, drawing conversations."
    if len(report["runs"]) > 1:
        yield f"In other lines: how far {name} is ahead of that line, paired by question."


def _times(report: Report) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("ms a question", "p50", "p95"):
        table.add_column(name, justify="left" if name[0] == "m" else "right")
    for run in report["runs"]:
        took = run["milliseconds"]
        table.add_row(render.plain(run["name"]), f"{took['p50']:.2f}", f"{took['p95']:.2f}")
    took = report["embedding_milliseconds"]
    table.add_row(
        Text("embedding it, for each of them", "dim"), f"{took['p50']:.2f}", f"{took['p95']:.2f}"
    )
    return table


def _facts(report: Report) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _lines(report):
        grid.add_row(Text(name, "dim"), Text(render.plain(value)))
    return grid


def _lines(report: Report) -> Iterator[tuple[str, str]]:
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
