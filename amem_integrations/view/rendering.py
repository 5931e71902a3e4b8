"""Making HTML of what a page shows. All that is stored is escaped, and cut where it is long."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.plots.text import line, many
from amem_integrations.view.addresses import note_page, page

EXCERPT, TITLE, NAME = 320, 72, 120
"""How wide a text may be, in letters."""


def environment(location: str) -> Environment:
    """The templates, with what all of them use. location: what the memory is called on pages."""
    made = Environment(
        loader=PackageLoader("amem_integrations.view"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        excerpt=excerpt,
        title_of=title_of,
        named=named,
        joined=joined,
        encoded=encode,
        when=when,
        signed=signed,
    )
    shared = cast(dict[str, Any], made.globals)
    shared.update(page=page, note_page=note_page, many=many, location=location)
    return made


def rendered(environment: Environment, template: str, shown: Mapping[str, Any]) -> bytes:
    """A page, ready to be sent; what is not valid Unicode becomes "?"."""
    return environment.get_template(template).render(shown).encode("utf-8", "replace")


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    return line(text, EXCERPT)


def title_of(text: str) -> str:
    """Less of it, for a heading, a link or a chip."""
    return line(text, TITLE)


def named(label: str) -> str:
    """A label of a namespace, on one line."""
    return line(label, NAME)


def joined(namespace: Namespace) -> str:
    """A namespace where there is room for text only: two may look alike."""
    return line(" / ".join(namespace), TITLE)


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")
