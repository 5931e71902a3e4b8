"""The commands of `amem` that look after a memory: what they do, say and exit with."""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import Result

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.memory.admin import Admin
from amem_integrations.testing import ScriptedChatModel
from tests.cli.console import call
from tests.support import io_of

TEXTS = {
    "cache": "Calvin wants an LRU policy for the Redis cache",
    "size": "The Redis cache holds at most ten thousand products",
    "violin": "The violin lesson moves to Tuesday",
}

Amem = Callable[..., Result]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("kept") / "memory"
    with AgenticMemory(directory) as memory:
        for key, text in TEXTS.items():
            memory.add(text, key=key, namespace="shop", speaker=key.title())
        memory.add("Somebody else's tea", namespace="other")
    return directory


@pytest.fixture
def home(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "memory"))


@pytest.fixture
def amem(home: Path) -> Amem:
    return lambda *arguments, **options: call(*arguments, AMEM_LOCATION=str(home), **options)


def damage(home: Path, **payload: object) -> None:
    with AgenticMemory(home) as memory:
        run(io_of(memory).engine.patch(memory.recent(namespace="shop")[0].id, payload))


def test_checking_a_healthy_memory_says_so(amem: Amem) -> None:
    result = amem("check")
    assert (result.exit_code, result.output) == (0, "4 notes: all is well.\n")


def test_a_check_that_finds_something_shows_it_and_exits_with_three(amem: Amem, home: Path) -> None:
    damage(home, prefixes=[])
    result = amem("check")
    assert result.exit_code == 3
    assert "derived: prefixes\n4 notes: 1 finding.\n" in result.stdout


def test_a_repair_mends_it_and_exits_with_zero(amem: Amem, home: Path) -> None:
    damage(home, prefixes=[])
    result = amem("admin", "repair")
    assert result.exit_code == 0, result.output
    assert "derived: prefixes, mended\n4 notes: 1 finding, 1 mended, 0 left.\n" in result.stdout
    assert amem("check").exit_code == 0


def test_what_a_repair_has_to_leave_is_said_and_exits_with_three(amem: Amem, home: Path) -> None:
    damage(home, metadata="{")
    result = amem("admin", "repair")
    assert result.exit_code == 3
    assert "unreadable: JSONDecodeError\n" in result.stdout
    assert "1 finding." in result.stdout


def test_an_export_to_standard_output_is_nothing_but_lines(amem: Amem) -> None:
    result = amem("export", "-n", "shop")
    header, *notes = map(json.loads, result.stdout.splitlines())
    assert header["namespace"] == ["shop"]
    assert {note["key"] for note in notes} == set(TEXTS)
    assert result.stderr == "3 notes of namespace shop exported.\n"


def test_an_exported_file_makes_the_same_memory_elsewhere(amem: Amem, tmp_path: Path) -> None:
    file, there = str(tmp_path / "shop.jsonl"), str(tmp_path / "there")
    assert amem("export", "-n", "shop", "-o", file).exit_code == 0
    result = call("import", file, "-l", there)
    assert (result.exit_code, result.stdout) == (0, "Namespace shop: 3 notes added.\n")
    again = call("import", file, "-l", there)
    assert again.output == "Namespace shop: 0 notes added; kept as they were: 3.\n"
    back = call("export", "-n", "shop", "-l", there)
    assert back.stdout.encode() == Path(file).read_bytes()
    assert "LRU policy" in call("search", "eviction", "-n", "shop", "-l", there).output


def test_an_export_that_breaks_off_leaves_the_file_of_the_last_one(
    amem: Amem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(memory: AgenticMemory, namespace: object) -> Iterator[str]:
        yield "half"
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "link.jsonl").symlink_to(tmp_path / "shop.jsonl")
    (tmp_path / "shop.jsonl").write_text("the last one")
    monkeypatch.setattr(Admin, "export", full)
    for name in ("shop.jsonl", "link.jsonl"):
        result = amem("export", "-n", "shop", "-o", str(tmp_path / name))
        assert result.exit_code == 1
        assert f"{name} cannot be written: No space left" in result.stderr
    monkeypatch.undo()
    assert {file.name for file in tmp_path.glob("*jsonl*")} == {"shop.jsonl", "link.jsonl"}
    assert (tmp_path / "shop.jsonl").read_text() == "the last one"
    assert amem("export", "-n", "shop", "-o", str(tmp_path / "link.jsonl")).exit_code == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "shop.jsonl").read_text().count("\n") == 4


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_an_export_goes_into_a_pipe_as_well(amem: Amem, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_text)
        assert amem("export", "-n", "shop", "-o", str(tmp_path / "pipe")).exit_code == 0
        assert read.result(30).count("\n") == 4


def test_an_import_can_go_to_another_namespace_and_come_from_a_pipe(amem: Amem) -> None:
    lines = amem("export", "-n", "shop").stdout
    result = amem("import", "-", "-n", "shop", "-n", "archive", input=lines)
    assert result.output == "Namespace shop/archive: 3 notes added.\n"


def test_a_broken_line_is_one_line_of_error(amem: Amem, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(amem("export", "-n", "shop").stdout.encode() + b"\xff\n")
    result = call("import", str(file), "-l", str(tmp_path / "there"))
    assert result.exit_code == 1
    said = f"amem: {file}: Line 5: it is not UTF-8 (byte 0). What stands before it"
    assert said in result.stderr
    assert result.stderr.splitlines()[0].startswith("A new memory is made in ")
    assert result.stderr.count("\n") == 2


@pytest.mark.parametrize("command", [("import", "missing.jsonl"), ("export", "-o", "no/such/file")])
def test_a_file_that_cannot_be_opened_is_named(amem: Amem, command: tuple[str, ...]) -> None:
    result = amem(*command)
    assert result.exit_code == 1
    assert f"amem: {command[-1]} cannot be opened: No such file" in result.stderr


def test_importing_a_missing_file_makes_no_memory(tmp_path: Path) -> None:
    call("import", "missing.jsonl", "-l", str(tmp_path / "there"))
    assert not (tmp_path / "there").exists()


def test_forgetting_asks_first(amem: Amem) -> None:
    result = amem("forget", "violin", "-n", "shop", input="n\n")
    assert result.exit_code == 1
    assert "Forget violin?" in result.stderr
    assert amem("show", "violin", "-n", "shop").exit_code == 0


def test_a_confirmed_forgetting_says_what_it_removed(amem: Amem) -> None:
    result = amem("forget", "violin", "-n", "shop", input="y\n")
    assert result.exit_code == 0
    assert result.stdout.endswith("1 note removed.\n")
    assert amem("show", "violin", "-n", "shop").exit_code == 1
    assert amem("check").exit_code == 0


def test_several_notes_can_be_forgotten_and_their_traces_are_counted(amem: Amem) -> None:
    result = amem("forget", "violin", "cache", "-n", "shop", "--yes")
    assert result.stdout.startswith("2 notes removed")
    assert "links of other notes removed: " in result.stdout


def test_notes_that_meet_a_filter_can_be_forgotten(amem: Amem) -> None:
    filter = '{"speaker": {"$in": ["Cache", "Size"]}}'
    result = amem("forget", "--where", filter, "-n", "shop", input="y\n")
    assert "Forget every note of namespace shop that meets" in result.stderr
    assert "2 notes removed; changes of other notes undone: " in result.stdout
    assert amem("show", "violin", "-n", "shop").exit_code == 0


def test_a_whole_namespace_can_be_forgotten_and_no_other(amem: Amem) -> None:
    result = amem("forget", "--all", "-n", "shop", input="y\n")
    assert "Forget all 3 notes of namespace shop?" in result.stderr
    assert result.stdout.endswith("3 notes removed.\n")
    assert amem("check").output == "1 note: all is well.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name the notes to forget"),
        (("violin", "--all"), "one of these"),
        (("--where", "{}"), "asks for nothing"),
        (("--where", "["), "--where is not JSON"),
        (("nothing",), "no note 'nothing'"),
    ],
)
def test_what_is_to_be_forgotten_must_be_clear(
    amem: Amem, arguments: tuple[str, ...], said: str
) -> None:
    result = amem("forget", *arguments, "-n", "shop", "--yes")
    assert result.exit_code == 1
    assert said in result.stderr
    assert amem("check").output == "4 notes: all is well.\n"


def test_a_retry_forms_what_was_given_up(amem: Amem, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = ScriptedChatModel(lambda messages: "I would rather not.")
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: refusing)
    amem("add", "Tea at four", "-n", "shop", "--model", "openai:scripted")
    failed = amem("admin", "retry", "--model", "openai:scripted")
    assert (failed.exit_code, failed.stdout) == (3, "0 notes formed, 1 still waiting.\n")
    done = amem("admin", "retry")
    assert (done.exit_code, done.output) == (0, "1 note formed.\n")
