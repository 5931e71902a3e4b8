"""What `amem usage` reads and shows: a moment to count from, and a report as table or JSON."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from amem_integrations.errors import InvalidInputError
from amem_integrations.ledger import Usage, UsageReport
from amem_integrations.note import as_utc

_AGO = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_NAMES = ("calls", "failed", "retries", "in", "out", "estimated", "seconds")


def since(text: str, now: datetime) -> datetime:
    """The moment that `text` means: an ISO date or time, or how long before `now`."""
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return now - int(ago[1]) * _UNITS[ago[2]]
        return as_utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"--since is a date, a time, or how long ago, such as 2026-11-01, 2026-11-01T08:00Z, "
            f"24h, 7d or 2w; got {text!r}."
        ) from error


def as_json(report: UsageReport) -> str:
    return json.dumps(asdict(report), indent=2)


def show(console: Console, report: UsageReport) -> None:
    """Print the report: a line each step, each mode, and the total; "in" and "out" are tokens."""
    if not report.total.calls:
        console.print("No model calls.")
        return
    console.print(_table(report))
    console.print('"in" and "out" are tokens.', style="dim")
    if report.total.estimated:
        console.print(
            f"{report.total.estimated:,} of them are estimates, as the model reported none.",
            style="dim",
        )


def _table(report: UsageReport) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(no_wrap=True)
    for name in _NAMES:
        table.add_column(name, justify="right")
    _rows(table, "step", report.by_step)
    _rows(table, "mode", report.by_mode)
    _rows(table, "", {"total": report.total})
    return table


def _rows(table: Table, heading: str, usages: Mapping[str, Usage]) -> None:
    for name, usage in usages.items():
        label = Text.assemble((f"{heading} ", "dim") if heading else "", (name, "bold"))
        counts = list(asdict(usage).values())
        table.add_row(label, *(f"{count:,}" for count in counts[:-1]), f"{usage.seconds:,.1f}")
