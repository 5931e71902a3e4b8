"""The examples in docstrings run, and print what they say."""

import ast
import doctest
import inspect
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import amem_integrations
from amem_integrations.embedders import dense
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.memory import build
from tests.pool import POOL
from tests.support import EMBEDDER, open_memory

PACKAGE = Path(amem_integrations.__file__).parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def examples() -> dict[str, str]:
    """Docstrings with examples, by module and name."""
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text and ">>>" in text:
                name = getattr(node, "name", "module")
                found[f"{path.relative_to(PACKAGE)}:{name}:{getattr(node, 'lineno', 0)}"] = text
    return found


EXAMPLES = examples()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What an example sees: an empty memory and directory; the default embedder needs no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dense, "_by_name", lambda name, threads: resolve_embedder(EMBEDDER))
    monkeypatch.setattr(build, "open_store", partial(open_pooled, build.open_store))
    with open_memory() as memory:
        yield {"memory": memory}


def open_pooled(open_store: Any, location: Any, *, encoders: Any, **settings: Any) -> Any:
    """A temporary store is one of the pool, which is quicker than a new one."""
    if location is None and encoders.embedder == EMBEDDER.name:
        location = POOL.directory(EMBEDDER)
    return open_store(location, encoders=encoders, **settings)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_true(name: str, session: dict[str, Any]) -> None:
    text = inspect.cleandoc(EXAMPLES[name])
    path = name.partition(":")[0].removesuffix(".py").removesuffix("/__init__")
    module = import_module(f"amem_integrations.{path.replace('/', '.')}")
    session = vars(module) | session
    test = doctest.DocTestParser().get_doctest(text, session, name, None, 0)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    said: list[str] = []
    runner.run(test, out=said.append)
    assert not said, "".join(said)
