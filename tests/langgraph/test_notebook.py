"""The notebook runs offline, and its cells print what it shows."""

from tests.notebooks import run_notebook


def test_every_cell_prints_what_the_notebook_shows() -> None:
    names, printed = run_notebook("langgraph_agent.ipynb")
    assert names["memory"].closed
    assert "Your boat is called Susie." in printed[5]
