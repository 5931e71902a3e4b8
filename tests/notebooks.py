"""Running a notebook of the cookbook as a test: code cells in order, in one namespace.

`python -m tests.notebooks NAME.ipynb …` runs notebooks and stores what their cells print.
"""

import ast
import asyncio
import contextlib
import difflib
import inspect
import io
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COOKBOOK = Path(__file__).parents[1] / "cookbook"

_FIGURE = re.compile(r"\d+\.\d+")
# How long it takes, and how far what goes on in the background has come, if anywhere.
_TIME = re.compile(r"\d+ ms\b")
_BACKGROUND = re.compile(r"; formed \d+ notes?")


def run_notebook(notebook: str, *, within: float = 0.11) -> tuple[dict[str, Any], dict[int, str]]:
    """The names at its end and what each cell printed, which is what the notebook shows.

    within: how far figures may be apart that have decimals, as quantised models compute a little
        differently on other processors; 5% at least.
    """
    cells = _read(notebook)["cells"]
    names, printed = execute(notebook)
    for place, text in printed.items():
        shown = "".join(line for each in cells[place]["outputs"] for line in each["text"])
        if not _alike(text, shown, within):
            lines = shown.splitlines(), text.splitlines()
            changed = "\n".join(difflib.unified_diff(*lines, "shown", "printed", lineterm=""))
            raise AssertionError(f"{notebook}, cell {place}:\n{changed}")
    return names, printed


def store_outputs(notebook: str) -> None:
    """Run a notebook and write down what its cells print."""
    document = _read(notebook)
    _, printed = execute(notebook)
    for place, text in printed.items():
        lines = text.splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": lines}
        document["cells"][place]["outputs"] = [stream] if text else []
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (COOKBOOK / notebook).write_text(f"{text}\n", "utf-8")


def execute(notebook: str) -> tuple[dict[str, Any], dict[int, str]]:
    """The names at a notebook's end, and what each of its code cells printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: dict[int, str] = {}
    with _directory(), asyncio.Runner() as loop:
        for place, cell in enumerate(_read(notebook)["cells"]):
            if cell["cell_type"] != "code":
                continue
            with contextlib.redirect_stdout(io.StringIO()) as out:
                value = _run("".join(cell["source"]), f"{notebook}, cell {place}", names, loop)
                # Pictures are shown as well, but not stored.
                if value is not None and not hasattr(value, "_repr_mimebundle_"):
                    out.write(f"{value!r}\n")
            printed[place] = out.getvalue()
    return names, printed


def _run(source: str, label: str, names: dict[str, Any], loop: asyncio.Runner) -> Any:
    """The value of a cell's last expression, which a notebook shows; None if it ends otherwise."""
    body = ast.parse(source, label).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    parts: list[tuple[ast.mod, str]] = [(ast.Module(body, []), "exec")]
    if isinstance(last, ast.Expr):
        parts.append((ast.Expression(last.value), "eval"))
    value: Any = None
    for part, mode in parts:
        value = eval(compile(part, label, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(value):
            value = loop.run(value)
    return value


def _read(notebook: str) -> dict[str, Any]:
    return json.loads((COOKBOOK / notebook).read_text("utf-8"))


@contextlib.contextmanager
def _directory() -> Iterator[None]:
    """A directory like the cookbook's, whose data a notebook can read, and which it can fill."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        shutil.copytree(COOKBOOK / "data", Path(directory, "data"))
        os.chdir(directory)
        try:
            yield
        finally:
            os.chdir(before)


def _alike(printed: str, shown: str, within: float) -> bool:
    printed, shown = (_BACKGROUND.sub("", _TIME.sub("# ms", text)) for text in (printed, shown))
    figures = [map(float, _FIGURE.findall(text)) for text in (printed, shown)]
    return _FIGURE.sub("#", printed) == _FIGURE.sub("#", shown) and all(
        math.isclose(mine, its, rel_tol=0.05, abs_tol=within)
        for mine, its in zip(*figures, strict=True)
    )


if __name__ == "__main__":
    for each in sys.argv[1:]:
        store_outputs(Path(each).name)
