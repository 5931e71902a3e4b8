"""What the page on security promises beyond the invariants, tried."""

from pathlib import Path

from tests.support import open_memory


def written(directory: Path) -> bytes:
    """Whatever stands in any file of a directory; most of these are holes."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return b"\0".join(path.read_bytes().rstrip(b"\0") for path in files)


def test_no_file_of_a_copy_has_what_was_forgotten(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory", formation="off") as memory:
        memory.add("The harbour opens at dawn")
        memory.forget(memory.add("The quokkamark is under the violin"))
        with open_memory(tmp_path / "copy") as copy:
            memory.admin.copy_to(copy)
    kept = written(tmp_path / "copy")
    assert b"harbour" in kept
    assert b"quokkamark" not in kept


def test_no_key_is_in_what_shows_a_memory() -> None:
    with open_memory(api_key="sk-secret") as memory:
        assert "sk-secret" not in f"{memory!r} {memory.options!r} {memory.admin.health()}"
