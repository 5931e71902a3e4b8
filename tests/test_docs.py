"""The reference pages: every public name stands there, and nothing that is not public."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from amem_integrations import AgenticMemory
from tests.public import exports, members

REFERENCE = Path(__file__).parents[1] / "cookbook" / "docs" / "reference"


def shown() -> list[str]:
    """The names that the pages have the reference generated for, in order."""
    texts = [page.read_text("utf-8") for page in sorted(REFERENCE.glob("*.md"))]
    return [name for text in texts for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]


MEMBERS = "amem_integrations.AgenticMemory."
"""Of these, each is named, so that the page has them in an order that helps."""


def named() -> list[str]:
    """The names that are shown, without members."""
    return [name for name in shown() if not name.startswith(MEMBERS)]


def value(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_every_public_name_stands_in_the_reference() -> None:
    there = {id(value(name)) for name in named()}
    missing = [
        f"{module}.{name}"
        for module, names in exports()
        for name in names
        if id(value(f"{module}.{name}")) not in there
    ]
    assert not missing


def test_every_operation_of_a_memory_stands_in_the_reference() -> None:
    there = sorted(name.removeprefix(MEMBERS) for name in shown() if name.startswith(MEMBERS))
    assert there == sorted(members(AgenticMemory))


def test_the_reference_has_nothing_that_is_not_public() -> None:
    public = {f"{module}.{name}" for module, names in exports() for name in names}
    assert set(named()) <= public


def test_nothing_stands_in_the_reference_twice() -> None:
    values = [id(value(name)) for name in named()]
    assert len(values) == len(set(values))
