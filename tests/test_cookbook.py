"""The notebooks of the cookbook run offline, from top to bottom, and print what they show."""

import json
import os
import re
from typing import Any

import pytest

from tests.llama_index.support import LLAMA_INDEX_WARNS
from tests.notebooks import COOKBOOK, execute, run_notebook

pytestmark = LLAMA_INDEX_WARNS


def test_quickstart() -> None:
    names, printed = run_notebook("quickstart.ipynb")
    assert "Copper tape around the raised bed" in printed[5]
    assert names["memory"].closed


@pytest.mark.parametrize(
    ("notebook", "memory"), [("langgraph_agent", "memory"), ("llamaindex_chat", "core")]
)
def test_the_agent_of_each_framework_remembers(notebook: str, memory: str) -> None:
    names, printed = run_notebook(f"{notebook}.ipynb")
    assert names[memory].closed
    assert "Your boat is called Susie." in printed[5]


def test_from_laptop_to_cluster_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    names, printed = run_notebook("from_laptop_to_cluster.ipynb")
    assert "there is no server" in printed[11]
    assert names["memory"].closed


@pytest.mark.parametrize(
    ("notebook", "within"),
    [
        ("formation_graph", 0.11),
        ("healthy_memory", 0.11),
        ("bring_your_memories", 0.11),
        ("measure_it", 2.5),
    ],
)
def test_a_notebook_prints_what_it_shows(notebook: str, within: float) -> None:
    names, _ = run_notebook(f"{notebook}.ipynb", within=within)
    assert names["memory"].closed


@pytest.mark.skipif(
    "AMEM_TEST_QDRANT_URL" not in os.environ, reason="AMEM_TEST_QDRANT_URL names no server"
)
def test_from_laptop_to_cluster_with_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_URL", os.environ["AMEM_TEST_QDRANT_URL"])
    _, printed = execute("from_laptop_to_cluster.ipynb")
    assert "0 findings" in printed[13]


NOTEBOOKS = sorted(path.name for path in COOKBOOK.glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_is_small_and_says_where_a_real_model_goes(notebook: str) -> None:
    text = (COOKBOOK / notebook).read_text("utf-8")
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    assert len(text) < 50_000
    outputs = [each for cell in cells for each in cell.get("outputs", ())]
    assert {each["output_type"] for each in outputs} == {"stream"}
    assert "openai:gpt-4o-mini" in text or "OpenAI(...)" in text


def test_the_readme_links_every_notebook() -> None:
    readme = (COOKBOOK.parent / "README.md").read_text("utf-8")
    assert set(re.findall(r"\(cookbook/(\w+\.ipynb)\)", readme)) == set(NOTEBOOKS)
