"""The tables of the configuration page name every setting of the code, with its default."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import (
    AgenticMemory,
    FormationOptions,
    Policy,
    RecallOptions,
    ServerOptions,
)

PAGE = Path(__file__).parents[1] / "cookbook/docs/configuration.md"


def table(heading: str) -> dict[str, str]:
    """The defaults of a section's table by setting, as the page writes them."""
    section = PAGE.read_text("utf-8").split(f"\n## `{heading}`\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", section, re.MULTILINE))


def written(value: Any) -> str:
    match value:
        case timedelta():
            days, hours = value.days, value.seconds // 3600
            count, unit = (days, "day") if days else (hours, "hour")
            return f"{count} {unit}{'s' if count != 1 else ''}"
        case Mapping():
            items = (f"{_key(key)}: {written(value[key])}" for key in value)
            return f"{{{', '.join(items)}}}"
        case str():
            return f'"{value}"'
        case _:
            return repr(value)


def _key(key: Any) -> str:
    return "None" if key is None else f'"{key}"'


@pytest.mark.parametrize("options", [FormationOptions, ServerOptions, RecallOptions, Policy])
def test_option_tables_match_the_code(options: Any) -> None:
    defaults = {
        field.name: field.default if field.default is not MISSING else field.default_factory()  # type: ignore[misc]
        for field in fields(options)
    }
    expected = {name: written(value) for name, value in defaults.items()}
    assert table(options.__name__) == expected


def test_the_constructors_table_matches_the_code() -> None:
    parameters = inspect.signature(AgenticMemory).parameters.values()
    assert table("AgenticMemory") == {each.name: written(each.default) for each in parameters}
