"""Which memory a command opens: with its own embedder, in its collection, from the environment."""

import json
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli import options
from amem_integrations.embedders.dense import resolve_embedder
from tests.cli.console import call, fill, printed
from tests.stores.loopback import LoopbackServer
from tests.support import again, open_memory


@pytest.fixture
def only_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line does not know the embedder of the memory."""
    monkeypatch.setattr(options, "resolve_embedder", resolve_embedder)


@pytest.mark.usefixtures("only_in_python")
def test_without_its_embedder_a_memory_can_be_read_and_a_search_says_why_not(
    shop: tuple[str, ...], home: Path
) -> None:
    assert len(printed("recent", *shop)["notes"]) == 4
    assert call("check", "-l", home).exit_code == 0
    result = call("search", "redis", *shop)
    assert result.exit_code == 1
    assert "written with the embedder 'hash-256', which amem cannot have" in result.stderr
    assert "`amem admin reembed`" in result.stderr
    other = call("recent", "-l", home, "--embedder", "multilingual")
    assert other.exit_code == 1
    assert "was written with the embedder 'hash-256'" in other.stderr


@pytest.mark.usefixtures("only_in_python")
@pytest.mark.parametrize("command", ["work --once", "admin retry"])
def test_without_its_embedder_no_note_is_tried_in_vain(
    memory: AgenticMemory, home: Path, command: str
) -> None:
    note = memory.add("The redis cache", formation="off")
    result = call(*command.split(), "-l", home)
    assert result.exit_code == 1
    assert "which amem cannot have" in result.output
    assert again(memory, note).attempts == 0


def test_a_collection_is_chosen_by_option_or_environment(tmp_path: Path) -> None:
    with open_memory(tmp_path, collection="other") as memory:
        memory.add("The redis cache")
        for result in (
            call("admin", "namespaces", "-l", tmp_path, "--collection", "other"),
            call("admin", "namespaces", AMEM_LOCATION=str(tmp_path), AMEM_COLLECTION="other"),
        ):
            assert result.stdout.split() == ["default", "1", "note"]
    for command in (("admin", "namespaces"), ("view", "--port", "0")):
        missing = call(*command, "-l", tmp_path, "--collection", "third")
        assert missing.exit_code == 1
        assert "There is no memory called 'third' at" in missing.stderr
    assert not (tmp_path / "third").exists()


def test_a_command_that_reads_makes_no_collection_on_a_server() -> None:
    server = LoopbackServer()
    try:
        result = call("recent", "-l", server.url, "--collection", "mistyped")
        assert "There is no memory called 'mistyped' at" in result.stderr
        assert not server.backend.get_collections().collections
    finally:
        server.stop()


def test_a_namespace_comes_from_the_environment_label_by_label(
    memory: AgenticMemory, home: Path
) -> None:
    memory.add("The redis cache", namespace=("org", "calvin"))
    asked = {"AMEM_LOCATION": str(home), "AMEM_NAMESPACE": "org calvin"}
    assert len(json.loads(call("recent", "--json", **asked).stdout)["notes"]) == 1


def test_a_home_directory_may_be_written_with_a_tilde(
    memory: AgenticMemory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory)
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.setenv("USERPROFILE", str(home.parent))
    assert call("admin", "namespaces", "-l", f"~/{home.name}").exit_code == 0


def test_a_new_memory_is_said_to_be_one(tmp_path: Path) -> None:
    made = call("work", "--once", "-l", tmp_path / "new")
    assert f"A new memory is made in {tmp_path / 'new'}." in made.stderr
    assert "A new memory" not in call("work", "--once", "-l", tmp_path / "new").stderr


@pytest.mark.parametrize("wrong", [("",), ("x", "-n", " "), ("x", "--speaker", " ")], ids=str)
def test_for_a_note_that_cannot_be_stored_no_memory_is_made(
    tmp_path: Path, wrong: tuple[str, ...]
) -> None:
    assert call("add", *wrong, "-l", tmp_path / "new").exit_code == 1
    assert not (tmp_path / "new").exists()


def test_a_file_is_no_place_for_a_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = call("add", "x", "-l", tmp_path / "file")
    assert result.exit_code == 1
    assert result.stderr.startswith("amem: ")
