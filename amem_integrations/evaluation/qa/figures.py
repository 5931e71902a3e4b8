"""The report's figures as SVG: F1 by category with intervals, and F1 by k."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from amem_integrations.evaluation.qa.paper import METHODS, SWEPT_MODEL, tables, told
from amem_integrations.evaluation.qa.report import groups_of

# Okabe and Ito's colours, which most eyes can tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5b5b5b", "#000000")
_WIDTH, _HEIGHT = 860, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 54, 34
_INK, _FAINT = "#222222", "#d9d9d9"


def by_category(report: Mapping[str, Any], paper_model: str | None) -> str:
    """F1 of each system by category; whiskers are 95% intervals, diamonds the paper's numbers.

    Of a system that was asked with several k, the first.
    """
    first: dict[str, Any] = {}
    for each in report["systems"]:
        first.setdefault(each["system"], each)
    systems, groups = list(first.values()), groups_of(report)
    parts = [*_frame(), *_legend(list(first), diamond=paper_model)]
    room = (_WIDTH - _LEFT - _RIGHT) / max(1, len(groups))
    for place, group in enumerate(groups):
        left = _LEFT + place * room
        parts.append(_text(left + room / 2, _HEIGHT - 12, group))
        for n, each in enumerate(systems):
            estimate = each["estimates"].get(group, {}).get("f1")
            if estimate is None:
                continue
            x = left + room * (n + 1) / (len(systems) + 1)
            parts += _whisker(x, estimate, _COLOURS[n % len(_COLOURS)])
            method = METHODS.get(each["system"])
            known = told("table1", paper_model, method, "f1", group) if paper_model else None
            if known is not None:
                parts.append(_diamond(x, _y(known / 100), _COLOURS[n % len(_COLOURS)]))
    return _svg(parts, "F1 in percent by category of question")


def by_k(report: Mapping[str, Any]) -> str | None:
    """F1 against k, a panel each category, beside the paper's figure 3; None without a sweep."""
    sweep, groups = report["sweep"], groups_of(report)
    if not sweep:
        return None
    swept = tables()["figure3"]
    names = list(sweep)
    parts = [*_frame(), *_legend(names, dashed=SWEPT_MODEL)]
    most = max(int(k) for each in sweep.values() for group in each.values() for k in group["f1"])
    most = max(most, *swept["k"])
    room = (_WIDTH - _LEFT - _RIGHT) / max(1, len(groups))

    def line(group_place: int, points: Sequence[tuple[float, float]], style: str) -> str:
        left = _LEFT + group_place * room
        at = " ".join(f"{left + 8 + (room - 16) * k / most:.1f},{_y(f1):.1f}" for k, f1 in points)
        return f'<polyline points="{at}" fill="none" stroke-width="2" {style}/>'

    for place, group in enumerate(groups):
        parts.append(_text(_LEFT + (place + 0.5) * room, _HEIGHT - 12, f"{group}, k to {most}"))
        if group in swept["f1"]:
            points = [(k, f1 / 100) for k, f1 in zip(swept["k"], swept["f1"][group], strict=True)]
            parts.append(line(place, points, f'stroke="{_INK}" stroke-dasharray="3 3"'))
        for n, name in enumerate(names):
            ours = sorted((int(k), f1) for k, f1 in sweep[name][group]["f1"].items())
            parts.append(line(place, ours, f'stroke="{_COLOURS[n % len(_COLOURS)]}"'))
    return _svg(parts, "F1 in percent against k, by category of question")


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - max(0.0, min(1.0, share)) * (_HEIGHT - _TOP - _BOTTOM)


def _frame() -> Iterator[str]:
    for percent in range(0, 101, 20):
        y = _y(percent / 100)
        yield (
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{_FAINT}"/>'
        )
        yield _text(_LEFT - 8, y + 4, str(percent), "end")


def _legend(
    names: Sequence[str], *, diamond: str | None = None, dashed: str | None = None
) -> Iterator[str]:
    x, y = float(_LEFT), 16.0
    entries = [(name, _COLOURS[n % len(_COLOURS)]) for n, name in enumerate(names)]
    if diamond is not None:
        entries.append((f"\u25c7 the paper's, {diamond}", ""))
    if dashed is not None:
        entries.append((f"\u2504 the paper's A-MEM, {dashed}", ""))
    for name, colour in entries:
        wide = 7.6 * len(name) + 34
        if x + wide > _WIDTH and x > _LEFT:
            x, y = float(_LEFT), y + 18
        if colour:
            yield f'<circle cx="{x + 6:.1f}" cy="{y - 4:.1f}" r="5" fill="{colour}"/>'
        yield _text(x + 16, y, name, "start")
        x += wide


def _whisker(x: float, estimate: Mapping[str, Any], colour: str) -> Iterator[str]:
    if estimate["low"] is not None:
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(estimate["low"]):.1f}" '
            f'y2="{_y(estimate["high"]):.1f}" stroke="{colour}" stroke-width="2"/>'
        )
    yield f'<circle cx="{x:.1f}" cy="{_y(estimate["mean"]):.1f}" r="5" fill="{colour}"/>'


def _diamond(x: float, y: float, colour: str) -> str:
    return (
        f'<path d="M{x:.1f} {y - 7:.1f} l7 7 l-7 7 l-7 -7 z" fill="white" fill-opacity="0.6" '
        f'stroke="{colour}" stroke-width="1.5"/>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(text)}</text>'
    )


def _svg(parts: Sequence[str], title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13"><title>{escape(title)}</title>'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>{"".join(parts)}</svg>'
    )
