"""The notebook runs offline, and its cells print what it shows."""

import pytest

from tests.notebooks import run_notebook


def test_every_cell_prints_what_the_notebook_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names, printed = run_notebook("langgraph_agent.ipynb", capsys)
    assert names["memory"].closed
    assert "Your boat is called Susie." in printed[5]
