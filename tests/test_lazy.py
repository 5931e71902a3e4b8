"""Names that load their module on first use, and what they say where a library is missing."""

import subprocess
import sys

import pytest


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
            "pytest",
            "import amem_integrations.testing as t; t.StoreContract",
            "pip install pytest",
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
