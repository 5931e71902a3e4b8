"""Makes HTML of what a page shows. All that is stored is escaped, and cut where it is long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from amem_integrations.core.hit import Hit
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.plots.text import line, many
from amem_integrations.view.addresses import note_page, page

EXCERPT, TITLE, NAME = 320, 72, 120
"""How wide a text may be, in letters."""
_SMALLEST_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Share:
    """One signal's contribution. start, width: of its bar, in percent of what all hits span."""

    signal: str
    value: float
    start: float
    width: float


def make_environment(location: str) -> Environment:
    """The templates, with what all of them use. location: what the memory is called on pages."""
    environment = Environment(
        loader=PackageLoader("amem_integrations.view"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        excerpt=partial(line, limit=EXCERPT),
        title_of=partial(line, limit=TITLE),
        named=partial(line, limit=NAME),
        joined=_joined,
        encoded=encode,
        when=_when,
        signed=_signed,
    )
    shared = cast(dict[str, Any], environment.globals)
    shared.update(page=page, note_page=note_page, many=many, location=location)
    return environment


def shares_of(hits: Sequence[Hit]) -> list[list[Share]]:
    """For each hit its signals, the largest first; those too small to be seen are left out."""
    values = [value for hit in hits for value in hit.why.values()]
    low, high = min([0.0, *values]), max([0.0, *values])
    span = (high - low) or 1.0
    return [
        [
            Share(name, value, 100 * (min(value, 0.0) - low) / span, 100 * abs(value) / span)
            for name, value in sorted(hit.why.items(), key=lambda share: -share[1])
            if abs(value) >= _SMALLEST_SHARE
        ]
        for hit in hits
    ]


def _joined(namespace: Namespace) -> str:
    """A namespace where there is room for text only: two may look alike."""
    return line(" / ".join(namespace), TITLE)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")
