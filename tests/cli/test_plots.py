"""The commands that draw: what they write, and how they fail."""

import sys
from pathlib import Path

import pytest
from typer.testing import Result

from tests.cli.console import call
from tests.support import open_memory


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("drawn") / "memory"
    with open_memory(directory, formation="off", embedder=None) as memory:
        memory.add_many(["The first of two", "The second of them"], namespace="two")
    return directory


def draw(location: Path, *arguments: str | Path) -> Result:
    return call("plot", *arguments, "-n", "two", "-l", location)


@pytest.mark.parametrize("command", ["graph", "map", "activity"])
def test_a_picture_is_a_page_that_holds_the_notes(
    location: Path, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "picture.html"
    result = draw(location, command, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "The second of them" in out.read_text("utf-8")
    assert "picture.html" in result.output


def test_a_trajectory_is_drawn_of_a_note_by_its_id(location: Path, tmp_path: Path) -> None:
    with open_memory(location, embedder=None) as memory:
        note = memory.recent(namespace="two")[0]
    result = draw(location, "trajectory", note.id, "-o", str(tmp_path / "note.html"))
    assert result.exit_code == 0, result.output
    assert "version 1" in (tmp_path / "note.html").read_text("utf-8")


def test_remarks_are_printed(location: Path, tmp_path: Path) -> None:
    result = draw(location, "graph", "--limit", "1", "-o", str(tmp_path / "graph.html"))
    assert "1 of 2 notes are shown" in result.output


def test_a_file_of_another_kind_is_refused(location: Path, tmp_path: Path) -> None:
    result = draw(location, "graph", "-o", str(tmp_path / "graph.gif"))
    assert result.exit_code == 1
    assert ".png" in result.output


def test_a_file_that_cannot_be_written_is_named(location: Path, tmp_path: Path) -> None:
    result = draw(location, "graph", "-o", str(tmp_path / "nowhere" / "graph.html"))
    assert result.exit_code == 1
    assert "cannot be written" in result.output


def test_without_the_extra_it_is_named(
    location: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    result = draw(location, "graph", "-o", str(tmp_path / "graph.html"))
    assert result.exit_code == 1
    assert 'pip install "amem-integrations[plots]"' in result.output
