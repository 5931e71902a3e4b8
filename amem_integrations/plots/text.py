"""Stored text as pictures may show it: on one line, cut, and never as markup.

Stored text is untrusted. Plotly renders some HTML in labels, and TeX where a page has MathJax.
"""

import html
import textwrap
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from amem_integrations.core.quotation import strip_invisible

LABEL, HOVER = 32, 280


def line(text: str, limit: int) -> str:
    """Return the beginning of `text` on one line, without invisible characters, not escaped.

    limit: the greatest width in letters; a Chinese character is as wide as two.
    """
    # Cutting first keeps a note of megabytes from being cleaned for one line.
    joined = " ".join(strip_invisible(text[: 4 * limit], keep_joiners=True).split())
    widths = (2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in joined)
    ends = list(accumulate(widths))
    if (not ends or ends[-1] <= limit) and len(text) <= 4 * limit:
        return joined
    return joined[: bisect_right(ends, limit - 1)].rstrip() + "…"


def escaped(text: str) -> str:
    """Return `text` for a label of Plotly, which shows it as written."""
    return html.escape(text, quote=False).replace("$", "&#36;")


def label(text: str, limit: int = LABEL) -> str:
    """Return the beginning of stored text, escaped."""
    return escaped(line(text, limit))


def hover(heading: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a box of stored text: a heading, and a line for each named value that is not empty."""
    shown = [f"<b>{_wrapped(heading)}</b>"]
    shown += [f"{escaped(name)}: {_wrapped(value)}" for name, value in rows if value]
    return "<br>".join(shown)


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(line(text, HOVER), 60, break_on_hyphens=False)
    return "<br>".join(map(escaped, lines))


def many(count: int, noun: str) -> str:
    """Return "1 note" or "2 notes"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
