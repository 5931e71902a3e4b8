"""Texts and items that commands are given: as an argument, from a pipe, or in an editor."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import typer

from amem_integrations.core.note import as_aware, make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.options import NoteFields

FIELDS = ("content", *NoteFields.__annotations__, "supersedes")
"""What an item may have."""


def read_text(text: str | None) -> str:
    """The text given on the command line, or all of standard input."""
    if text not in (None, "-"):
        return text
    if text is None and not is_piped():
        raise typer.BadParameter("Give a text, or pipe one in.", param_hint="TEXT")
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"Standard input is not UTF-8 (byte {error.start}); iconv can make it so."
        ) from error


def edit_text(old: str, text: str | None) -> str:
    """A new text: the one given, that of a pipe, or what an editor makes of the old one."""
    if text == "-" or (text is None and is_piped()):
        return read_text("-").removesuffix("\n")
    return _in_editor(old) if text is None else text


def is_piped() -> bool:
    """Whether standard input is no terminal."""
    return not sys.stdin.isatty()


def _in_editor(old: str) -> str:
    """What $VISUAL or $EDITOR makes of a text. Raises InvalidInputError if it fails."""
    usual = "notepad" if os.name == "nt" else "vi"
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or usual
    # Readable by this user only, and gone afterwards.
    with tempfile.TemporaryDirectory(prefix="amem-") as folder:
        file = Path(folder, "note.md")
        file.write_text(old, "utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
            new = file.read_text("utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise InvalidInputError(
                f"The editor {editor!r} failed ({error}), so the note is as it was; $EDITOR names "
                "another."
            ) from error
    # Editors end a text with a line break of their own.
    return new if old.endswith("\n") else new.removesuffix("\n")


def read_items(text: str, about: Mapping[str, Any], *, as_json: bool) -> list[dict[str, Any]]:
    """An item for `add_many` for each line that is not blank; a JSON line precedes `about`."""
    items: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                fields = _read_fields(line) if as_json else {"content": line.strip()}
                items.append(checked({**about, **fields}))
            except InvalidInputError as error:
                reason = str(error).rstrip(".")
                raise InvalidInputError(f"Line {number}: {reason}. Nothing was stored.") from error
    return items


def _read_fields(line: str) -> dict[str, Any]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"it is not JSON: {error}") from error
    if not isinstance(data, dict) or "content" not in data:
        raise InvalidInputError('it is no JSON object with "content"')
    fields = cast("dict[str, Any]", data)
    if unknown := sorted(fields.keys() - set(FIELDS)):
        raise InvalidInputError(
            f"it has {', '.join(map(repr, unknown))}, and an object may have "
            f"{', '.join(FIELDS)} (`amem import` reads what `amem export` wrote)"
        )
    if (when := fields.get("occurred_at")) is not None:
        try:
            fields["occurred_at"] = as_aware(datetime.fromisoformat(when))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"occurred_at is no ISO date or time: {when!r}") from error
    return fields


def checked(item: dict[str, Any]) -> dict[str, Any]:
    """The item, if it can be stored; checked before a memory is opened, or made, for it."""
    about = {name: value for name, value in item.items() if name != "supersedes"}
    make_note(**about, namespace="x", now=datetime.now(UTC))
    return item
