"""Lines of JSON that a run keeps, so that it can be interrupted anywhere and taken up again."""

import json
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from amem_integrations.errors import InvalidInputError


def fingerprint(*facts: Any) -> str:
    """The same for the same facts, which are JSON."""
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]


class KeptLines:
    """A file of objects by fingerprint; of several of one fingerprint, the last counts.

    What a kill left of a last line is passed over. Safe to use from several threads.
    Raises InvalidInputError where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text("utf-8") if path.exists() else ""
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be kept: {error.strerror}.") from error
        self._known = dict(_entries(text))
        if text and not text.endswith("\n"):
            self._file.write("\n")

    def get(self, key: str) -> Mapping[str, Any] | None:
        return self._known.get(key)

    def values(self) -> list[Mapping[str, Any]]:
        with self._lock:
            return list(self._known.values())

    def keep(self, key: str, value: Mapping[str, Any]) -> None:
        """On the disk before it returns, as far as the process is concerned."""
        line = json.dumps({"key": key, **value}, ensure_ascii=False)
        with self._lock:
            self._known[key] = value
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def _entries(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line in text.split("\n"):
        try:
            entry: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and "key" in entry:
            fields = cast("dict[str, Any]", entry)
            yield str(fields.pop("key")), fields
