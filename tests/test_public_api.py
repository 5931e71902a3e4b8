"""The package as a whole: its names, what importing it costs, and how its files are kept."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import amem_integrations
import amem_integrations.testing

PACKAGE = Path(amem_integrations.__file__).parent
MODULES = [
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], prefix=f"{amem_integrations.__name__}.")
]
FRAMEWORKS = (
    "fastembed",
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "numpy",
    "onnxruntime",
    "openai",
    "pydantic",
    "qdrant_client",
    "qdrant_edge",
    "rich",
    "rjieba",
    "typer",
)


def python(program: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


def test_the_public_names_are_these() -> None:
    assert amem_integrations.__all__ == [
        "AMemError",
        "AgenticMemory",
        "Attachment",
        "Audit",
        "Captioning",
        "Consolidation",
        "Explanation",
        "Health",
        "Hit",
        "Link",
        "MemoryWorker",
        "Note",
        "Policy",
        "Proposal",
        "Recall",
        "Revision",
        "Status",
        "TurnResult",
    ]


def test_the_public_names_for_tests_are_these() -> None:
    assert amem_integrations.testing.__all__ == [
        "Call",
        "HashEmbedder",
        "ScriptExhaustedError",
        "ScriptedChatModel",
        "StoreContract",
    ]


@pytest.mark.parametrize("package", [amem_integrations, amem_integrations.testing])
def test_every_public_name_can_be_imported_and_is_listed(package: object) -> None:
    names: list[str] = package.__all__  # type: ignore[attr-defined]
    assert all(getattr(package, name) for name in names)
    assert set(names) <= set(dir(package))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = amem_integrations.Nothing


@pytest.mark.parametrize(
    "program",
    [
        "import amem_integrations",
        "from amem_integrations import AMemError, Hit, Link, Note, Revision, Status",
        "import amem_integrations.testing",
        "import amem_integrations.cli",
        "import amem_integrations.core.io",
    ],
)
def test_importing_loads_no_framework(program: str) -> None:
    loaded = python(f"{program}\nimport sys\nprint(*sys.modules)").split()
    assert not {name.partition(".")[0] for name in loaded} & set(FRAMEWORKS)


def test_a_memory_without_a_model_loads_no_chat_framework_until_it_forms_a_note() -> None:
    program = """
from amem_integrations import AgenticMemory
from amem_integrations.testing import HashEmbedder
with AgenticMemory(embedder=HashEmbedder(), formation="off") as memory:
    memory.add("Calvin wants an LRU policy")
    assert memory.search("policy")
import sys
print(*sys.modules)
"""
    loaded = {name.partition(".")[0] for name in python(program).split()}
    assert not loaded & {"fastembed", "langchain", "langchain_core", "langgraph", "qdrant_client"}


def test_how_long_importing_takes_is_recorded(
    record_property: Callable[[str, object], None],
) -> None:
    program = """
import time
started = time.perf_counter()
import amem_integrations
print(time.perf_counter() - started)
"""
    seconds = min(float(python(program)) for _ in range(3))
    record_property("import_seconds", seconds)
    assert seconds > 0


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported(name: str) -> None:
    assert importlib.import_module(name).__name__ == name


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    files = PACKAGE.rglob("*.py")
    long = {path: lines for path in files if (lines := path.read_text("utf-8").count("\n")) > 400}
    assert not long


def test_type_checkers_are_told_that_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
