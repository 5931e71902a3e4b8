"""How groups are told apart: by a colour that colour-blind people can tell too, and by a shape.

The colours are those of Okabe and Ito (Color Universal Design, 2008), but for their yellow, which
is too pale on white: olive stands in for it.
"""

from collections import Counter
from collections.abc import Iterable

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8A7A00")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "pentagon", "star", "hexagon")
REST_COLOUR, REST_SYMBOL = "#B4BBC2", "circle"
INK, FAINT, PAPER = "#1F2933", "#6B7680", "#FFFFFF"
FONT = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif"
OTHERS = "others"


def look(groups: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each group; `others` and what is past the palette are grey."""
    own = [group for group in groups if group != OTHERS][: len(COLOURS)]
    told = dict(zip(own, zip(COLOURS, SYMBOLS, strict=True), strict=False))
    return {group: told.get(group, (REST_COLOUR, REST_SYMBOL)) for group in groups}


def legend(groups: Iterable[str]) -> tuple[str, ...]:
    """The groups worth a colour, the largest first, then `others` if some are left."""
    counts = Counter(groups)
    rest = counts.pop(OTHERS, 0)
    ranked = sorted(counts, key=lambda group: (-counts[group], group))
    kept = ranked[: len(COLOURS)]
    return (*kept, OTHERS) if rest or len(ranked) > len(kept) else tuple(kept)
