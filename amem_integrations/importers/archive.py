"""Files of other programs: a single file, a folder or a zip, all read in one way.

Nothing is unpacked to disk, and no link out of a folder is followed, so a name can lead nowhere.
"""

import io
import os
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from amem_integrations.admin.lines import read_json
from amem_integrations.errors import InvalidInputError

MAX_FILE_BYTES = 2 * 1024**3
"""The longest file that is read. JSON takes about six times its size in memory."""
_MAX_NAMES = 200_000
# Text becomes a tenth in a zip, and hardly ever a hundredth.
_MAX_RATIO, _SMALL = 200, 64 * 1024**2
_HEAD = 64 * 1024


class Archive:
    """The files at a path by name, with "/" between folders; those of a single file are one.

    Hidden files are left out, and so are links.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None
        if path.is_file() and zipfile.is_zipfile(path):
            try:
                self._zip = zipfile.ZipFile(path)
            except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
                raise InvalidInputError(f"{path} is a damaged zip file: {error}.") from error

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        names: list[str] = []
        for name in self._all_names():
            if not any(part.startswith((".", "__MACOSX")) for part in name.split("/")):
                names.append(name)
            if len(names) > _MAX_NAMES:
                raise InvalidInputError(f"{self.path} has more than {_MAX_NAMES:,} files.")
        return tuple(sorted(names))

    @property
    def title(self) -> str:
        """The name of the file or folder, without its ending."""
        return self.path.resolve().stem

    def find(self, *patterns: str) -> list[str]:
        """The names that match one of the patterns from the right, in any folder."""
        return [
            name
            for name in self.names
            if any(PurePosixPath(name.lower()).match(pattern) for pattern in patterns)
        ]

    @contextmanager
    def open(self, name: str) -> Generator[BinaryIO]:
        """Open a file to read it. Raises InvalidInputError if it is damaged or too long."""
        try:
            with self._opened(name) as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as e:
            # Damaged, encrypted, or packed in a way that nobody knows.
            raise InvalidInputError(f"{name} in {self.path} cannot be unpacked: {e}.") from e

    def head(self, name: str) -> str:
        """The beginning of a file, as text, to tell what it is."""
        with self.open(name) as file:
            return file.read(_HEAD).decode("utf-8-sig", "replace")

    def json(self, name: str) -> Any:
        """What a file of JSON holds. Raises InvalidInputError if it is none."""
        with self.open(name) as file:
            data = file.read()
        try:
            return read_json(data)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}: {error}") from error

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a text, without line breaks; what is not UTF-8 is shown as such."""
        # Only "\n" ends a line: others stand within messages.
        with (
            self.open(name) as file,
            io.TextIOWrapper(file, "utf-8-sig", "replace", newline="\n") as text,
        ):
            for line in text:
                yield line.rstrip("\r\n")

    def changed_at(self, name: str) -> datetime:
        """When a file was changed last; in a zip by the clock of whoever packed it."""
        if self._zip is not None:
            try:
                return datetime(*self._zip.getinfo(name).date_time, tzinfo=UTC)
            except ValueError:
                return datetime(1980, 1, 1, tzinfo=UTC)
        return datetime.fromtimestamp(self._file(name).stat().st_mtime, UTC)

    def _all_names(self) -> Iterator[str]:
        if self._zip is not None:
            yield from (info.filename for info in self._zip.infolist() if not info.is_dir())
        elif self.path.is_dir():
            for folder, _, files in os.walk(self.path):
                for name in files:
                    file = Path(folder, name)
                    if file.is_file() and not file.is_symlink():
                        yield file.relative_to(self.path).as_posix()
        else:
            yield self.path.name

    def _file(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path

    def _opened(self, name: str) -> BinaryIO:
        if self._zip is None:
            _check_size(name, self._file(name).stat().st_size)
            return self._file(name).open("rb")
        info = self._zip.getinfo(name)
        _check_size(name, info.file_size)
        if info.file_size > max(_SMALL, _MAX_RATIO * info.compress_size):
            raise InvalidInputError(
                f"{name} in {self.path} would become {info.file_size:,} bytes out of "
                f"{info.compress_size:,}, as no chat does; unpack it yourself if you trust it."
            )
        return cast("BinaryIO", self._zip.open(info))


def _check_size(name: str, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise InvalidInputError(
            f"{name} has {size:,} bytes; files of up to {MAX_FILE_BYTES:,} are read."
        )
