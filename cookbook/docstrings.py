"""What the reference pages make of our docstrings: lists of arguments, and examples that stand out.

A docstring says `name: what it is` line by line, with what goes on indented, and has examples as
doctests. Markdown would run the former into one paragraph and quote the latter. For mkdocs.yml.
"""

import re
from typing import Any

from griffe import Extension, Object

_NAMES = r"[a-z_]\w*(?:, [a-z_]\w*)*"
_ITEM = re.compile(rf"({_NAMES}): (.*)")
_NEXT = re.compile(rf"(?<=[.;]) (?={_NAMES}: )")


def as_markdown(text: str) -> str:
    """`text`, a docstring of ours, as Markdown shows it."""
    lines: list[str] = []
    inside = ""  # what the line before belongs to: "item", "example", or nothing
    for line in _NEXT.sub("\n", text).splitlines():
        before, inside = inside, _kind(line, inside)
        if before == "example" != inside:
            lines.append("```")
        if inside != before and lines and lines[-1]:
            lines.append("")
        if inside == "example" != before:
            lines.append("```pycon")
        if inside == "item" and (found := _ITEM.fullmatch(line)):
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            lines.append(f"- {names}: {found[2]}")
        else:
            lines.append(line)
    if inside == "example":
        lines.append("```")
    return "\n".join(lines)


def _kind(line: str, before: str) -> str:
    if line.startswith(">>>"):
        return "example"
    if before == "example":
        return "example" if line else ""
    if _ITEM.fullmatch(line):
        return "item"
    if before == "item" and line.startswith("    "):
        return "item"
    return ""


class HouseStyle(Extension):
    """Rewrites every docstring that is about to be shown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
