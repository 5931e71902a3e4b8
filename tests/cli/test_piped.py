"""`amem add` from a pipe: one text, a note a line, JSON a line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_integrations.cli import options
from tests.cli.console import call, hashed, kept, printed


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "resolve_embedder", hashed)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("piped") / "memory"
    with kept(directory):
        yield directory


@pytest.fixture
def home(directory: Path) -> Iterator[Path]:
    yield directory
    with kept(directory) as memory:
        memory.admin.forget_namespace("default")


def test_a_pipe_needs_no_dash(home: Path) -> None:
    [note] = printed("add", "-l", home, input="two\nlines\n")["notes"]
    assert note["content"] == "two\nlines\n"


def test_each_line_is_a_note_with_what_is_said_of_all(home: Path) -> None:
    asked = ("add", "--lines", "-l", home, "--speaker", "Ada", "--at", "2026-03-01")
    notes = printed(*asked, input="\ufeffone\r\n\n  two  \n")["notes"]
    assert [(note["content"], note["speaker"]) for note in notes] == [
        ("one", "Ada"),
        ("two", "Ada"),
    ]
    assert {note["occurred_at"] for note in notes} == {"2026-03-01T00:00:00+00:00"}


def test_lines_are_counted_for_people_and_again_they_are_the_same(home: Path) -> None:
    for _ in range(2):
        result = call("add", "--lines", "-l", home, input="the one\nthe other\n")
        assert result.stdout.startswith("2 notes remembered, with ")
    assert printed("admin", "namespaces", "-l", home)["namespaces"][0]["notes"] == 2


def test_a_json_line_says_more_than_the_options(home: Path) -> None:
    line = {
        "content": "Calvin moved",
        "key": "moved",
        "speaker": "Bea",
        "occurred_at": "2026-03-01T08:00:00+01:00",
        "metadata": {"ticket": 7},
    }
    lines = f"{json.dumps(line)}\n{json.dumps({'content': 'Tea'})}\n"
    first, second = printed("add", "--json-lines", "-l", home, "--speaker", "Ada", input=lines)[
        "notes"
    ]
    assert (first["key"], first["speaker"], first["metadata"]) == ("moved", "Bea", {"ticket": 7})
    assert first["occurred_at"] == "2026-03-01T07:00:00+00:00"
    assert second["speaker"] == "Ada"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "Line 2: it is not JSON"),
        ("[" * 100_000, "Line 2: it is not JSON"),
        ("3", 'Line 2: it is no JSON object with "content"'),
        ('{"content": 3}', "Line 2: content must be text"),
        ('{"content": "x", "when": 1}', "Line 2: it has 'when'"),
        ('{"format": "amem-notes", "content": ""}', "`amem import` reads what"),
        ('{"content": "x", "occurred_at": "soon"}', "Line 2: occurred_at is no ISO date"),
        ('{"content": "x", "occurred_at": 3}', "Line 2: occurred_at is a text"),
        ('{"content": "x", "source": "rumour"}', "Line 2: source is one of"),
        ('{"content": "x", "metadata": [1]}', "Line 2: metadata must be a mapping"),
        ('{"content": "x", "sequence": 1.5}', "Line 2: sequence must be an int"),
    ],
    ids=lambda text: text[:30],
)
def test_a_wrong_line_is_named_and_nothing_is_stored(home: Path, line: str, said: str) -> None:
    result = call("add", "--json-lines", "-l", home, input=f'{{"content": "Tea"}}\n{line}\n')
    assert result.exit_code == 1
    assert said in result.stderr
    assert "Nothing was stored." in result.stderr
    assert printed("admin", "namespaces", "-l", home) == {"namespaces": []}


@pytest.mark.parametrize(
    "arguments", [("a text", "--lines"), ("--lines", "--key", "k"), ("--lines", "--json-lines")]
)
def test_many_notes_go_without_what_is_one_note_s(home: Path, arguments: tuple[str, ...]) -> None:
    result = call("add", *arguments, "-l", home, input="x")
    assert result.exit_code == 1
    assert "they go without each other" in result.stderr


def test_bytes_that_are_no_utf_8_are_refused(home: Path) -> None:
    result = call("add", "-l", home, input=b"ok \xff")  # type: ignore[arg-type]
    assert result.exit_code == 1
    assert "Standard input is not UTF-8 (byte 3)" in result.stderr
