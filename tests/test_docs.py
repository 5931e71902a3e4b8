"""The documentation names what there is: every public name, every command, and no other."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main

from amem_integrations import AgenticMemory
from amem_integrations.cli.app import app
from tests.public import exports, members

DOCS = Path(__file__).parents[1] / "cookbook" / "docs"
REFERENCE = DOCS / "reference"


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


def test_the_guide_to_the_command_line_names_every_command() -> None:
    text = (DOCS / "guides" / "command_line.md").read_text("utf-8")
    table = text[text.index("| command |") :].partition("\n\n")[0]
    named = [
        each for row in table.splitlines() for each in re.findall("`(.+?)`", row.split("|")[1])
    ]
    commands: Any = typer.main.get_command(app)
    assert sorted(named) == sorted(commands.commands)
