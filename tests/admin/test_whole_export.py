"""An export that was cut off is imported as far as it goes, and whoever imports it is told."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidLineError
from tests.support import open_memory

Cut = Callable[[list[str]], list[str]]
CUTS: list[tuple[Cut, int | None]] = [
    (lambda lines: lines, 0),
    # Blank lines hold nothing.
    (lambda lines: [*lines, "", " "], 0),
    (lambda lines: lines[:-1], None),
    (lambda lines: lines[:3], None),
    (lambda lines: lines[:1], None),
    (lambda lines: [*lines[:3], lines[-1]], 2),
    (lambda lines: [*lines[:-1], lines[2], lines[-1]], -1),
]


@pytest.mark.parametrize(("cut", "missing"), CUTS)
def test_the_result_tells_whether_the_lines_are_all(
    lines: list[str], target: AgenticMemory, cut: Cut, missing: int | None
) -> None:
    before = target.admin.health().get("import.incomplete", 0)
    imported = target.admin.import_(cut(lines))
    assert (imported.missing, imported.complete) == (missing, missing == 0)
    assert target.count("a") == len({line for line in cut(lines)[1:] if '"key"' in line})
    told = target.admin.health().get("import.incomplete", 0) - before
    assert told == (missing != 0)


@pytest.mark.parametrize("cut", [3, 5])
async def test_a_stream_is_read_alike(lines: list[str], cut: int) -> None:
    async def stream(some: Iterable[str]) -> AsyncIterator[str]:
        for line in some:
            yield line

    async with open_memory() as other:
        assert (await other.admin.aimport_(stream(lines[:cut]))).missing is None
        assert (await other.admin.aimport_(stream(lines))).complete


@pytest.mark.parametrize("end", [{"notes": -1}, {"notes": "4"}, {}, {"notes": True}])
def test_an_end_without_a_count_is_refused(
    lines: list[str], target: AgenticMemory, end: dict[str, Any]
) -> None:
    with pytest.raises(InvalidLineError, match="Line 6: notes is not a whole number"):
        target.admin.import_([*lines[:-1], json.dumps({"end": "amem-notes", **end})])


def test_nothing_comes_after_the_end(lines: list[str], target: AgenticMemory) -> None:
    with pytest.raises(InvalidLineError, match="Line 7: it comes after the end"):
        target.admin.import_([*lines, lines[2]])
    assert target.count("a") == 4
