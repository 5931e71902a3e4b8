"""Notes on the command line: added from an argument or a pipe, searched, shown, listed."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from amem_integrations import AgenticMemory
from amem_integrations.cli import terminal, text_input
from amem_integrations.core import note as note_module
from amem_integrations.testing import ScriptedChatModel
from tests.cli.console import call, fill, printed

CHINESE = "我们去上海的素菜馆吃晚饭，因为那里的豆腐很好吃，而且离地铁站不远"


def test_an_added_note_can_be_found_and_shown_by_key_or_id(home: Path) -> None:
    about = ("--speaker", "Ada", "--session", "lunch", "--key", "cache")
    added = call("add", "Calvin wants an LRU policy", "-l", home, *about)
    assert added.exit_code == 0, added.output
    assert re.search(r"said +Ada, in “lunch”, 20", added.stdout)
    found = call("search", "LRU policy", "-l", home)
    assert re.search(r"cache  [-\d]+  Ada: Calvin wants an LRU policy", found.output)
    shown = call("show", "cache", "-l", home).output
    assert "formed" in shown.partition("history")[2]
    id = re.search(r"id +([0-9a-f-]{36})", shown)
    assert id is not None
    assert call("show", id[1], "-l", home).output == shown


def test_a_note_that_could_not_be_formed_is_stored_and_said_to_be_raw(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = ScriptedChatModel(lambda messages: "I would rather not.")
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: refusing)
    asked = ("-l", home, "--model", "openai:scripted")
    added = call("add", "Calvin wants LRU", *asked)
    assert added.exit_code == 0
    assert re.search(r"status +raw: \w", added.stdout)
    assert "is not formed yet" in added.stderr
    assert "Calvin wants LRU" in call("search", "LRU", "-l", home).output
    several = call("add", "--lines", *asked, input="One\nTwo\n")
    assert "2 of 2 notes are stored and can be found, but not formed yet" in several.stderr
    failed = call("admin", "retry", *asked)
    assert (failed.exit_code, failed.stdout) == (3, "0 notes formed, 3 still waiting.\n")
    done = call("admin", "retry", "-l", home)
    assert (done.exit_code, done.output) == (0, "3 notes formed.\n")


def test_labels_make_a_namespace_and_keep_notes_apart(home: Path) -> None:
    call("add", "The key is under the mat", "-l", home, "-n", "org", "-n", "calvin")
    assert "under the mat" in call("search", "key", "-l", home, "-n", "org", "-n", "calvin").output
    assert "no notes in namespace org." in call("search", "key", "-l", home, "-n", "org").output


@pytest.mark.parametrize(
    "command", ["search key", "recent", "health", "plot graph", "plot map", "plot activity"]
)
def test_an_empty_namespace_says_where_to_look(
    memory: AgenticMemory, home: Path, tmp_path: Path, command: str
) -> None:
    memory.add("The key is under the mat", namespace=("org", "a b"))
    drawn = tmp_path / "drawn.html"
    out = ["-o", str(drawn)] if command.startswith("plot") else []
    other = call(*command.split(), "-l", home, "-n", "nobody", *out)
    assert "There are no notes in namespace nobody. `amem admin namespaces` lists" in other.output
    joined = call(*command.split(), "-l", home, "-n", "org/a b", *out)
    assert "Labels are given one by one: -n org -n 'a b'" in joined.output
    assert not drawn.exists()
    assert other.exit_code == joined.exit_code == (1 if out else 0)


def test_a_search_heeds_a_filter_and_says_if_nothing_is_found(shop: tuple[str, ...]) -> None:
    found = call("search", "redis", *shop, "--filter", '{"speaker": "Ada"}', "-k", "2").output
    assert len(re.findall(r"\d\. +\w+  [-\d]+  Ada: ", found)) == 2
    nothing = call("search", "redis", *shop, "--filter", '{"speaker": "Bea"}').output
    assert nothing == "Nothing found among 4 notes of namespace shop.\n"


def test_a_note_shows_its_links_in_both_directions(shop: tuple[str, ...]) -> None:
    shown = call("show", "size", *shop).output
    assert re.search(r"→ +cache  \S+ \d", shown)
    assert re.search(r"← +again  \S+ \d", shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "t99"), "no note 't99' in namespace shop"),
        (("search", " "), "query is empty"),
        (("search", "cells", "--filter", "{"), "--filter is not JSON"),
        (("search", "cells", "--filter", "[]"), "--filter is a JSON object"),
        (("search", "cells", "-k", "-1"), "k is a whole number"),
        (("add", " "), "content is empty or blank"),
        (("add", "x", "--model", "nobody:nothing"), "names no known provider"),
    ],
)
def test_an_error_is_one_line_and_exit_code_one(
    home: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = call(*arguments, "-l", home, "-n", "shop")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("amem: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_narrow_terminal_loses_no_words(memory: AgenticMemory, home: Path) -> None:
    fill(memory, "default")
    memory.add(CHINESE, key="dinner")
    wide, narrow = (
        call("search", "cache", "-l", home, "-k", "1", COLUMNS=columns) for columns in ("200", "30")
    )
    assert max(map(cell_len, narrow.output.splitlines())) <= 30
    assert "".join(narrow.output.split()) == "".join(wide.output.split())
    lines = call("show", "dinner", "-l", home, COLUMNS="40").output.splitlines()
    assert any("素菜馆" in line for line in lines)
    assert max(map(cell_len, lines)) <= 40


def test_a_pipe_is_one_note(home: Path) -> None:
    [note] = printed("add", "-l", home, input="two\nlines\n")["notes"]
    assert note["content"] == "two\nlines\n"
    call("add", "-", "-l", home, "--key", "dash", input="two\nlines")
    assert re.search(r"content +two *\n +lines", call("show", "dash", "-l", home).output)


def test_each_line_is_a_note_with_what_is_said_of_all(home: Path) -> None:
    asked = ("add", "--lines", "-l", home, "--speaker", "Ada", "--at", "2026-03-01")
    for _ in range(2):
        result = call(*asked, input="\ufeffone\r\n\n  two  \n")
        assert result.stdout.startswith("2 notes remembered, with ")
    notes = printed(*asked, input="one\ntwo")["notes"]
    assert [(note["content"], note["speaker"]) for note in notes] == [
        ("one", "Ada"),
        ("two", "Ada"),
    ]
    assert {note["occurred_at"] for note in notes} == {"2026-03-01T00:00:00+00:00"}
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
    asked = ("add", "--json-lines", "-l", home, "--speaker", "Ada")
    first, second = printed(*asked, input=lines)["notes"]
    assert (first["key"], first["speaker"], first["metadata"]) == ("moved", "Bea", {"ticket": 7})
    assert first["occurred_at"] == "2026-03-01T07:00:00+00:00"
    assert second["speaker"] == "Ada"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Line 2: it is not JSON"),
        ("[" * 100_000, "Line 2: it is not JSON"),
        ("3", 'Line 2: it is no JSON object with "content"'),
        ('{"content": 3}', "Line 2: content must be text"),
        ('{"content": "x", "when": 1}', "Line 2: it has 'when'"),
        ('{"format": "amem-notes", "content": ""}', "`amem import` reads what"),
        ('{"content": "x", "occurred_at": "soon"}', "Line 2: occurred_at is no ISO date"),
        ('{"content": "x", "occurred_at": 3}', "Line 2: occurred_at is no ISO date"),
        ('{"content": "x", "source": "rumour"}', "Line 2: source is one of"),
        ('{"content": "x", "metadata": [1]}', "Line 2: metadata must be a mapping"),
        ('{"content": "x", "sequence": 1.5}', "Line 2: sequence must be an int"),
    ],
    ids=lambda text: text[:30],
)
def test_a_wrong_line_is_named_and_nothing_is_stored(home: Path, line: str, message: str) -> None:
    result = call("add", "--json-lines", "-l", home, input=f'{{"content": "Tea"}}\n{line}\n')
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Nothing was stored." in result.stderr
    assert printed("admin", "namespaces", "-l", home) == {"namespaces": []}


@pytest.mark.parametrize(
    "arguments", [("a text", "--lines"), ("--lines", "--key", "k"), ("--lines", "--json-lines")]
)
def test_many_notes_exclude_what_belongs_to_one(home: Path, arguments: tuple[str, ...]) -> None:
    result = call("add", *arguments, "-l", home, input="x")
    assert result.exit_code == 1
    assert "they go without each other" in result.stderr


def test_bytes_that_are_no_utf_8_are_refused(home: Path) -> None:
    result = call("add", "-l", home, input=b"ok \xff")  # type: ignore[arg-type]
    assert result.exit_code == 1
    assert "Standard input is not UTF-8 (byte 3)" in result.stderr


@pytest.mark.parametrize("chat", [(), ("--chat",)], ids=["notes", "turns"])
def test_ctrl_c_says_how_much_is_stored_and_that_the_same_command_goes_on(
    memory: AgenticMemory, home: Path, chat: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"Berth {n} of the harbour belongs to the boat number {n}.\n" for n in range(5))
    command = ("add", "--lines", *chat, "--session", "list", "-l", home, "-n", "shop")
    stages = terminal.stages

    @contextmanager
    def broken_off() -> Iterator[Any]:
        def third(advance: Any, done: int, total: int) -> None:
            advance(done, total)
            if done == 3:
                raise KeyboardInterrupt

        with stages() as stage:
            yield lambda name: partial(third, stage(name))

    with monkeypatch.context() as patch:
        patch.setattr(terminal, "stages", broken_off)
        result = call(*command, input=text)
    what = "turns" if chat else "notes"
    assert result.exit_code == 130
    assert result.stderr == (
        f"Interrupted: 3 of 5 {what} are stored. The same command goes on from there.\n"
    )
    assert call(*command, input=text).exit_code == 0
    assert memory.count("shop") == 5


def test_the_beginning_of_an_id_is_enough_where_it_is_unique(
    memory: AgenticMemory, home: Path
) -> None:
    notes = memory.add_many([f"Berth {n} is free" for n in range(40)], namespace="shop")
    at = ("-l", home, "-n", "shop")
    first = notes[0].id
    assert printed("show", first[:8].upper(), *at)["notes"][0]["id"] == first
    added = printed("add", "Berth 0 is taken", "--supersedes", first[:13], *at)["notes"][0]
    assert memory.search("Is berth 0 taken?", namespace="shop")[0].note.id == added["id"]
    assert printed("forget", first[:8], "--yes", *at)["notes"] == 1
    assert memory.get(first, namespace="shop") is None
    for name in (first[:8], notes[1].id[:7], notes[1].id[:8] + "x"):
        assert "There is no note" in call("show", name, *at).stderr


def test_a_beginning_that_several_ids_have_is_refused(
    memory: AgenticMemory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = iter(f"abcdef01-0000-5000-8000-00000000000{n}" for n in range(2))
    monkeypatch.setattr(note_module, "note_id", lambda namespace, key: next(ids))
    for text in ("Berth 1 is free", "The dentist is on Monday"):
        memory.add(text, namespace="shop", key=text)
    monkeypatch.undo()
    result = call("forget", "abcdef01", "--yes", "-l", home, "-n", "shop", COLUMNS="80")
    assert result.exit_code == 1
    assert "2 notes of namespace shop begin with 'abcdef01'" in result.stderr
    assert memory.count("shop") == 2


def test_a_text_is_edited_by_argument_pipe_or_editor(
    shop: tuple[str, ...], memory: AgenticMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = call("edit", "cache", "Calvin wants LFU", *shop)
    assert edited.exit_code == 0, edited.output
    assert "Calvin wants LFU" in edited.stdout
    [note] = printed("edit", "cache", "-", *shop, input="Calvin wants FIFO\n")["notes"]
    assert (note["content"], note["status"]) == ("Calvin wants FIFO", "formed")
    editor = tmp_path / "my editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('FIFO', sys.argv[0][-9:-3]))\n"
    )
    monkeypatch.setattr(text_input, "is_piped", lambda: False)
    with_editor = {"VISUAL": None, "EDITOR": f"{sys.executable} '{editor}'"}
    assert "Calvin wants editor" in call("edit", "cache", *shop, **with_editor).stdout
    unchanged = call("edit", "cache", *shop, **with_editor)
    assert (unchanged.exit_code, unchanged.stderr) == (0, "The text is as it was.\n")
    for failing in ("false", str(tmp_path / "nowhere")):
        result = call("edit", "cache", *shop, VISUAL=failing)
        assert result.exit_code == 1
        assert "the note is as it was" in result.stderr
    assert memory.get(key="cache", namespace="shop").content == "Calvin wants editor"
    assert call("edit", "cache", " ", *shop).exit_code == 1
    assert "amem edit" in call("lifecycle", "resolve", "cache", "keep", *shop).stderr
