"""What the engine raises, as errors of this package."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from amem_integrations.errors import (
    AMemError,
    StoreClosedError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreWriteError,
)

_LOCKED = ("WouldBlock",)
_FULL = ("No space left", "StorageFull", "File too large", "FileTooLarge", "Disk quota", "Quota")
_UNWRITABLE = ("Read-only file system", "ReadOnly", "Permission denied", "PermissionDenied")
_CLOSED = ("Shard is not initialized",)
_DESCRIPTORS = ("Too many open files", "os error 24")
_DAMAGED = (
    "corrupt",
    "deserialize",
    "decode",
    "decompress",
    "out of bounds",
    "Inconsistent",
    "malformed",
)


@contextmanager
def translated(path: Path, *, opening: bool = False) -> Generator[None]:
    """Raise whatever the engine raises inside as one of our StoreErrors.

    opening: files are being read for the first time, so an unknown failure means damage.
    """
    try:
        yield
    except AMemError:
        raise
    except OSError as error:
        raise _meaning(error.strerror or str(error), path, opening=False) from error
    except Exception as error:
        raise _meaning(str(error), path, opening) from error
    except BaseException as error:
        # A panic is no Exception, and its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise StoreCorruptError(
            f"The storage engine broke off while working on {path}: {_first_line(str(error))}. "
            f"Close the store and open it again. {_RESTORE}"
        ) from error


def full(path: Path, free: int, needed: int) -> StoreWriteError:
    megabytes = 1024 * 1024
    return StoreWriteError(
        f"The disk that holds {path} has {free // megabytes} MB left, and {needed // megabytes} MB "
        "must be free to write safely. Nothing was written. Free some space, or keep the store "
        "in another directory."
    )


def locked(path: Path) -> StoreLockedError:
    return StoreLockedError(
        f"{path} is open in another process (or in a process forked while it was open). "
        "Close it there first, use another directory, or run a Qdrant server, which several "
        "processes can share."
    )


_RESTORE = (
    "If that fails, its files are damaged: move the directory aside, keep it, and restore a copy."
)


def _meaning(text: str, path: Path, opening: bool) -> StoreError:
    detail = _first_line(text)
    if _has(text, _LOCKED):
        return locked(path)
    if _has(text, _FULL):
        return StoreWriteError(
            f"There is no room to write in {path}: {detail}. Free some space and try again; "
            "what was stored before is kept."
        )
    if _has(text, _UNWRITABLE):
        return StoreWriteError(
            f"{path} cannot be written: {detail}. Give this user write access to it, or use "
            "another directory."
        )
    if _has(text, _CLOSED):
        return StoreClosedError(f"The store in {path} is closed. Open it again.")
    if _has(text, _DESCRIPTORS):
        return StoreError(
            f"Too many files are open to work on {path}. Close other stores, or raise the limit "
            "(ulimit -n)."
        )
    if opening or _has(text, _DAMAGED):
        return StoreCorruptError(
            f"The files in {path} are damaged: {detail}. Nothing was deleted: move the directory "
            "aside, keep it, and restore a copy."
        )
    return StoreError(f"The storage engine could not do this in {path}: {detail}.")


def _has(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0].rstrip(".")
    return line if len(line) <= 300 else line[:300] + "…"
