"""Which memory a command opens: with its own embedder, in its collection, from the environment."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_integrations.cli import options
from amem_integrations.testing import HashEmbedder
from tests.cli.console import call, fill, hashed, kept, printed
from tests.stores.loopback import LoopbackServer
from tests.support import open_memory

_HEADER = b'{"format": "amem-notes", "format_version": 1, "namespace": ["shop"], "package": "0"}\n'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("opening") / "memory"
    with kept(directory) as memory:
        fill(memory)
        yield directory


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "resolve_embedder", hashed)


@pytest.mark.usefixtures("known")
def test_a_memory_is_searched_with_the_embedder_it_was_written_with(home: Path) -> None:
    hits = printed("search", "redis cache policy", "-l", home, "-n", "shop", "-k", "2")["hits"]
    assert len(hits) == 2
    assert set(hits[0]) == {"score", "relevance", "why", "via", "note"}


def test_one_whose_embedder_only_python_has_can_be_read_and_says_so_to_a_search(
    home: Path,
) -> None:
    assert len(printed("recent", "-l", home, "-n", "shop")["notes"]) == 4
    assert call("check", "-l", home).exit_code == 0
    result = call("search", "redis", "-l", home, "-n", "shop")
    assert result.exit_code == 1
    assert "written with the embedder 'hash-256', which amem cannot have" in result.stderr
    assert "`amem admin reembed`" in result.stderr


def test_another_embedder_that_is_asked_for_is_refused(home: Path) -> None:
    result = call("recent", "-l", home, "--embedder", "multilingual")
    assert result.exit_code == 1
    assert "was written with the embedder 'hash-256'" in result.stderr


@pytest.mark.usefixtures("known")
def test_reembed_makes_a_copy_and_leaves_the_old_one(home: Path, tmp_path: Path) -> None:
    with open_memory(tmp_path / "new", embedder=HashEmbedder(96)) as memory:
        done = printed("admin", "reembed", "-l", home, "--to", tmp_path / "new")
        assert done == {"notes": 4, "total": 4, "to": str(tmp_path / "new")}
        again = call("admin", "reembed", "-l", home, "--to", tmp_path / "new")
        assert again.stdout.startswith("0 notes copied to ")
        assert memory.search("redis cache", namespace="shop")
    assert printed("admin", "namespaces", "-l", home)["namespaces"] == [
        {"namespace": ["shop"], "notes": 4}
    ]


def test_reembed_goes_to_another_place(home: Path) -> None:
    result = call("admin", "reembed", "-l", home, "--to", f"{home}/../memory/")
    assert result.exit_code == 1
    assert "--to is another place" in result.stderr


def test_a_collection_is_chosen_by_option_or_environment(tmp_path: Path) -> None:
    with open_memory(tmp_path, collection="other") as memory:
        memory.add("The redis cache")
        for result in (
            call("admin", "namespaces", "-l", tmp_path, "--collection", "other"),
            call("admin", "namespaces", AMEM_LOCATION=str(tmp_path), AMEM_COLLECTION="other"),
        ):
            assert result.stdout.split() == ["default", "1", "note"]
    missing = call("admin", "namespaces", "-l", tmp_path, "--collection", "third")
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


def test_a_namespace_comes_from_the_environment_label_by_label(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        memory.add("The redis cache", namespace=("org", "calvin"))
        asked = {"AMEM_LOCATION": str(tmp_path), "AMEM_NAMESPACE": "org calvin"}
        assert len(json.loads(call("recent", "--json", **asked).stdout)["notes"]) == 1


def test_a_home_directory_may_be_written_with_a_tilde(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.setenv("USERPROFILE", str(home.parent))
    assert call("admin", "namespaces", "-l", "~/memory").exit_code == 0


def test_a_new_memory_is_said_to_be_one(tmp_path: Path) -> None:
    made = call("work", "--once", "-l", tmp_path / "new")
    assert f"A new memory is made in {tmp_path / 'new'}." in made.stderr
    assert "A new memory" not in call("work", "--once", "-l", tmp_path / "new").stderr


def test_a_location_that_cannot_be_one_is_not_said_to_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = call("add", "x", "-l", tmp_path / "file")
    assert result.exit_code == 1
    assert result.stderr.startswith("amem: ")


@pytest.mark.parametrize("wrong", [("",), ("x", "-n", " "), ("x", "--speaker", " ")], ids=str)
def test_for_a_note_that_cannot_be_stored_no_memory_is_made(
    tmp_path: Path, wrong: tuple[str, ...]
) -> None:
    assert call("add", *wrong, "-l", tmp_path / "new").exit_code == 1
    assert not (tmp_path / "new").exists()


def test_an_export_can_steer_no_terminal(home: Path) -> None:
    with kept(home) as memory:
        memory.add("\x9b2J\u202eback", namespace="odd")
    piped = call("export", "-l", home, "-n", "odd").stdout
    assert "\u202e" in piped
    shown = call("export", "-l", home, "-n", "odd", FORCE_COLOR="1").stdout
    assert shown.isascii()
    assert [*map(json.loads, shown.splitlines())] == [*map(json.loads, piped.splitlines())]


def test_with_json_nothing_but_the_error_is_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(_HEADER + b"broken\n")
    result = call("import", tmp_path / "lines", "-l", tmp_path / "new", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["kind"] == "InvalidLineError"


@pytest.mark.usefixtures("known")
def test_with_json_it_is_not_said_that_a_memory_is_made(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(_HEADER)
    result = call("import", tmp_path / "lines", "-l", tmp_path / "new", "--json")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("lines", [b"", b"\n\n", b"broken\n", b"\xff\n", b'{"format": "other"}\n'])
def test_for_lines_that_are_no_export_no_memory_is_made(tmp_path: Path, lines: bytes) -> None:
    (tmp_path / "lines").write_bytes(lines)
    result = call("import", tmp_path / "lines", "-l", tmp_path / "new")
    assert result.exit_code == 1
    assert "Nothing was imported." in result.stderr
    assert not (tmp_path / "new").exists()
