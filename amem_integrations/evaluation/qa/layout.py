"""Blocks of a report, and how they become Markdown or HTML. What they say is `document`'s."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

_TITLE = "Question answering from memory"
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:82rem;margin:2rem auto;padding:0 1rem;"
    "color:#222}table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}"
    "th{white-space:normal;vertical-align:bottom}th:first-child,td:first-child{text-align:left}"
    "tr.paper td{color:#777;font-style:italic}pre{background:#f6f6f6;padding:.8rem;"
    "white-space:pre-wrap}svg{max-width:100%;height:auto}"
)


@dataclass(frozen=True, slots=True)
class Table:
    """paper: the places of rows that are the paper's."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    paper: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """name: of its file, without its ending."""

    name: str
    svg: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    text: str


Block: TypeAlias = Heading | Table | Figure | Verbatim | str


def markdown(found: Iterable[Block]) -> str:
    """GitHub's Markdown; figures are files beside it."""
    parts = [f"# {_TITLE}"]
    for block in found:
        match block:
            case Heading(text):
                parts.append(f"## {text}")
            case Table(header, rows, theirs):
                lines = [header, ["---", *("---:" for _ in header[1:])]]
                for place, row in enumerate(rows):
                    cells = [cell.replace("|", "\\|") for cell in row]
                    lines.append([f"*{cell}*" if place in theirs else cell for cell in cells])
                parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
            case Figure(name):
                parts.append(f"![{name}]({name}.svg)")
            case Verbatim(text):
                parts.append(f"````text\n{text}\n````")
            case str():
                parts.append(block)
    return "\n\n".join(parts) + "\n"


def html(found: Iterable[Block]) -> str:
    """One page that needs nothing else."""
    parts: list[str] = []
    for block in found:
        match block:
            case Heading(text):
                parts.append(f"<h2>{escape(text)}</h2>")
            case Table(header, rows, theirs):
                head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
                body = "".join(
                    ('<tr class="paper">' if place in theirs else "<tr>")
                    + "".join(f"<td>{escape(cell)}</td>" for cell in row)
                    + "</tr>"
                    for place, row in enumerate(rows)
                )
                parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
            case Figure(_, svg):
                parts.append(f"<figure>{svg}</figure>")
            case Verbatim(text):
                parts.append(f"<pre>{escape(text)}</pre>")
            case str():
                parts.append(f"<p>{escape(block)}</p>")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_TITLE}</title>'
        f"<style>{_STYLE}</style><h1>{_TITLE}</h1>{''.join(parts)}</html>\n"
    )
