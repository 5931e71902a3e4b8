"""Pages of the documentation, read as tables, so that tests can hold them against the code."""

import ast
import re
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).parents[1] / "cookbook" / "docs"
PACKAGE = Path(__file__).parents[1] / "amem_integrations"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def sections(text: str) -> dict[str, str]:
    """What stands under each heading of the levels 2 and 3, by the heading."""
    parts = re.split(r"^##+ +(.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(section: str) -> list[list[str]]:
    """The cells of the tables in a section, without heads."""
    found: list[list[str]] = []
    lines = [*section.splitlines(), ""]
    for line, following in pairwise(lines):
        if line.startswith("| ") and not following.startswith("| ---"):
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return [row for row in found if not set("".join(row)) <= {"-", ":", " "}]


def source_texts() -> dict[Path, str]:
    """Every module of the package."""
    return {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def messages(text: str) -> list[str]:
    """Every text in a module's source, with "…" for what is filled in."""
    tree = ast.parse(text)
    inner = {
        part for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values
    }
    found: list[str] = []
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr):
            found.append("".join(_constant(part) or "…" for part in each.values))
        elif each not in inner and (constant := _constant(each)):
            found.append(constant)
    return found


def _constant(node: ast.AST) -> str | None:
    held = node.value if isinstance(node, ast.Constant) else None
    return held if isinstance(held, str) else None
