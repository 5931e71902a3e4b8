"""Stored text as pictures may show it: on one line, cut, and never as markup.

What is stored is untrusted. Plotly renders some HTML in labels, and TeX where a page has
MathJax; both must show as they were written.
"""

import html
import textwrap
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

LABEL, HOVER = 32, 280
_JOINERS = "\u200c\u200d"
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def line(text: str, limit: int) -> str:
    """The beginning of `text` on one line, without what moves or turns text, still unescaped.

    limit: how wide it may be, in letters; a Chinese character is as wide as two.
    """
    # Cutting first keeps a note of megabytes from being cleaned for one line.
    shown = "".join(
        each if each in _JOINERS or unicodedata.category(each) not in _UNSEEN else " "
        for each in text[: 4 * limit]
    )
    joined = " ".join(shown.split())
    ends = list(accumulate(map(_width, joined)))
    if (not ends or ends[-1] <= limit) and len(text) <= 4 * limit:
        return joined
    return joined[: bisect_right(ends, limit - 1)].rstrip() + "…"


def _width(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def escaped(text: str) -> str:
    """`text` for a label of Plotly's, where it shows as it is."""
    return html.escape(text, quote=False).replace("$", "&#36;")


def label(text: str, limit: int = LABEL) -> str:
    """The beginning of stored text, ready to be shown."""
    return escaped(line(text, limit))


def wrapped(text: str, width: int = 60, limit: int = HOVER) -> str:
    """The beginning of stored text in lines of at most `width` characters, ready to be shown."""
    lines = textwrap.wrap(line(text, limit), width, break_on_hyphens=False)
    return "<br>".join(map(escaped, lines))


def hover(heading: str, rows: Iterable[tuple[str, str]]) -> str:
    """A box of stored text: a heading, and a line for each named value that is not empty."""
    shown = [f"<b>{wrapped(heading)}</b>"]
    shown += [f"{escaped(name)}: {wrapped(value)}" for name, value in rows if value]
    return "<br>".join(shown)


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
