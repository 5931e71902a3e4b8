"""Running a notebook of the cookbook as a test: code cells in order, in one namespace."""

import ast
import asyncio
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

COOKBOOK = Path(__file__).parents[1] / "cookbook"


def cells(notebook: str) -> Iterator[tuple[int, str, str]]:
    """Number, source and shown output of each code cell."""
    for place, cell in enumerate(json.loads((COOKBOOK / notebook).read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            shown = "".join(line for each in cell["outputs"] for line in each["text"])
            yield place, "".join(cell["source"]), shown


def run_notebook(
    notebook: str, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], dict[int, str]]:
    """The names at its end and what each cell printed, which is what the notebook shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: dict[int, str] = {}
    shown: dict[int, str] = {}
    with asyncio.Runner() as loop:
        for place, source, output in cells(notebook):
            label = f"{notebook}, cell {place}"
            code = compile(source, label, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            awaited = eval(code, names)
            if inspect.iscoroutine(awaited):
                loop.run(awaited)
            printed[place], shown[place] = capsys.readouterr().out, output
    assert printed == shown
    return names, printed
