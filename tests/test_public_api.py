"""The package as a whole: its names, what importing it costs, and how its files are kept."""

import subprocess
import sys
from pathlib import Path

import pytest

import amem_integrations
import amem_integrations.langchain
import amem_integrations.langgraph
import amem_integrations.llama_index
import amem_integrations.mcp
import amem_integrations.testing

PACKAGE = Path(amem_integrations.__file__).parent
FRAMEWORKS = (
    "fastembed",
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "mcp",
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
        "FormationOptions",
        "Health",
        "Hit",
        "Link",
        "MemoryWorker",
        "Note",
        "Policy",
        "Proposal",
        "Recall",
        "RecallOptions",
        "Revision",
        "ServerOptions",
        "Status",
        "TurnResult",
    ]


def test_the_public_names_for_tests_are_these() -> None:
    assert amem_integrations.testing.__all__ == [
        "Call",
        "EngineContract",
        "HashEmbedder",
        "ScriptExhaustedError",
        "ScriptedChatModel",
    ]


@pytest.mark.parametrize(
    "package",
    [
        amem_integrations,
        amem_integrations.langchain,
        amem_integrations.langgraph,
        amem_integrations.llama_index,
        amem_integrations.mcp,
        amem_integrations.testing,
    ],
)
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
        "import amem_integrations.langchain, amem_integrations.langgraph",
        "import amem_integrations.llama_index, amem_integrations.mcp",
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


def test_type_checkers_are_told_that_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize(
    ("missing", "program", "remedy"),
    [
        (
            "llama_index",
            "from amem_integrations.llama_index import AMemMemory",
            'pip install "amem-integrations[llama-index]"',
        ),
        (
            "langchain",
            "from amem_integrations.langgraph import AMemMiddleware",
            'pip install "amem-integrations[langchain]"',
        ),
        (
            "mcp",
            "from amem_integrations.mcp import create_mcp_server",
            'pip install "amem-integrations[mcp]"',
        ),
    ],
)
def test_a_name_whose_library_is_missing_says_what_to_install(
    missing: str, program: str, remedy: str
) -> None:
    absent = f"import sys; sys.modules[{missing!r}] = None; {program}"
    run = subprocess.run([sys.executable, "-c", absent], capture_output=True, text=True)
    last = run.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: ")
    assert last.endswith(f"needs {missing}, which is not installed: {remedy}")


def test_a_missing_module_that_nothing_here_brings_is_reported_as_it_is() -> None:
    absent = "import sys; sys.modules['json'] = None; from amem_integrations import AgenticMemory"
    run = subprocess.run([sys.executable, "-c", absent], capture_output=True, text=True)
    assert "None in sys.modules" in run.stderr.splitlines()[-1]
