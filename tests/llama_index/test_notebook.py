"""The notebook runs offline, and its cells print what it shows."""

import ast
import asyncio
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llama_index.support import LLAMA_INDEX_WARNS

pytestmark = LLAMA_INDEX_WARNS

NOTEBOOK = Path(__file__).parents[2] / "cookbook" / "llamaindex_chat.ipynb"


def cells() -> Iterator[tuple[int, str, str]]:
    """Number, source and shown output of each code cell."""
    for place, cell in enumerate(json.loads(NOTEBOOK.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            shown = "".join(line for each in cell["outputs"] for line in each["text"])
            yield place, "".join(cell["source"]), shown


def test_every_cell_prints_what_the_notebook_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    printed, shown = {}, {}
    with asyncio.Runner() as loop:
        for place, source, output in cells():
            name = f"{NOTEBOOK.name}, cell {place}"
            code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            awaited = eval(code, names)
            if inspect.iscoroutine(awaited):
                loop.run(awaited)
            printed[place], shown[place] = capsys.readouterr().out, output
    assert printed == shown
    assert names["core"].closed
    assert "Your boat is called Susie." in printed[5]
    assert "You have not told me." in printed[5]
