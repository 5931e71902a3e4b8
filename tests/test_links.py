"""Links in Markdown lead somewhere: files are there, and so are the headings that anchors name.

The pages of the documentation are looked at as well when the site is built, strictly, by `.ci/run`.
Other people's addresses are only looked at for their form: tests stay on this machine.
"""

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[1]
COOKBOOK = ROOT / "cookbook"
DOCS = COOKBOOK / "docs"
TEXTS = (
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob(".github/*.md")),
    *sorted(COOKBOOK.glob("*.md")),
    *sorted(COOKBOOK.glob("*.ipynb")),
    *sorted(DOCS.rglob("*.md")),
)

_FENCED = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^][]*\]\(\s*([^)\s]+)[^)]*\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


@cache
def prose(path: Path) -> str:
    """The Markdown of a page or of a notebook's cells, without fenced code."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = [each for each in json.loads(text)["cells"] if each["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return _FENCED.sub("", text)


def links(path: Path) -> list[str]:
    return _LINK.findall(_CODE.sub("", prose(path)))


def anchors(path: Path) -> set[str]:
    """What the headings of a page are called in a link: a second of the same name has a number."""
    seen: Counter[str] = Counter()
    names: set[str] = set()
    for heading in _HEADING.findall(prose(path)):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", shown).strip().replace(" ", "-")
        names.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return names


def target(path: Path, link: str) -> Path:
    """The file a link leads to; the site has a page beside each notebook, made when it is built."""
    aimed = (path.parent / urlsplit(link).path).resolve() if urlsplit(link).path else path
    if aimed.parent == DOCS / "notebooks":
        return COOKBOOK / f"{aimed.stem}.ipynb"
    return aimed


def trouble(path: Path, link: str) -> str | None:
    """What is wrong with a link, if anything."""
    parts = urlsplit(link)
    if parts.scheme:
        good = parts.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc)
        return None if good or parts.scheme == "mailto" else "is no address"
    aimed = target(path, link)
    if not aimed.exists():
        return "leads nowhere"
    if not aimed.is_relative_to(ROOT):
        return "leads out of the project"
    if parts.fragment and parts.fragment not in anchors(aimed):
        return "names no heading"
    return None


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    wrong = {link: found for link in links(path) if (found := trouble(path, link))}
    assert not wrong


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("README.md", None),
        ("README.md#limits", None),
        ("#limits", None),
        ("README.md#no-such-heading", "names no heading"),
        ("NOTHING.md", "leads nowhere"),
        ("../", "leads out of the project"),
        ("https://arxiv.org/abs/2502.12110", None),
        ("http://arxiv.org", "is no address"),
        ("https:/arxiv.org", "is no address"),
    ],
)
def test_a_link_that_leads_nowhere_is_seen(link: str, wrong: str | None) -> None:
    assert trouble(ROOT / "README.md", link) == wrong


def test_links_in_code_are_none(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](b.md) `[c](d.md)`\n\n```\n[e](f.md)\n```\n", "utf-8")
    assert links(page) == ["b.md"]
