"""What `amem add` reads from standard input: one text, a note a line, or JSON a line."""

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import typer

from amem_integrations.core.note import as_utc, make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import NoteFields

FIELDS = ("content", *NoteFields.__annotations__, "supersedes")


def read_text(given: str | None) -> str:
    """The text given on the command line, or all of standard input."""
    if given not in (None, "-"):
        return given
    if given is None and sys.stdin.isatty():
        raise typer.BadParameter("Give a text, or pipe one in.", param_hint="TEXT")
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"Standard input is not UTF-8 (byte {error.start}); iconv can make it so."
        ) from error


def line_items(text: str, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An item for `add_many` for each line that is not blank."""
    return [
        _checked({**about, "content": line.strip()}, number) for number, line in _numbered(text)
    ]


def json_items(text: str, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Likewise of lines that are JSON objects; what these leave out is as `about` says."""
    return [_checked({**about, **_object(line, n)}, n) for n, line in _numbered(text)]


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(number, f"it is not JSON: {error}") from error
    if not isinstance(data, dict) or "content" not in data:
        raise _wrong(number, 'it is no JSON object with "content"')
    fields = cast("dict[str, Any]", data)
    if unknown := sorted(fields.keys() - set(FIELDS)):
        raise _wrong(
            number,
            f"it has {', '.join(map(repr, unknown))}, and an object may have "
            f"{', '.join(FIELDS)} (`amem import` reads what `amem export` wrote)",
        )
    when = fields.get("occurred_at")
    if isinstance(when, str):
        try:
            fields["occurred_at"] = as_utc(datetime.fromisoformat(when))
        except ValueError as error:
            raise _wrong(number, f"occurred_at is no ISO date or time: {when!r}") from error
    elif when is not None:
        raise _wrong(number, "occurred_at is a text, an ISO date or time")
    return fields


def checked(item: dict[str, Any]) -> dict[str, Any]:
    """The item, if it can be stored: said before a memory is opened, or made, for it."""
    about = {name: value for name, value in item.items() if name != "supersedes"}
    make_note(**about, namespace="x", now=datetime.now(UTC))
    return item


def _checked(item: dict[str, Any], number: int) -> dict[str, Any]:
    try:
        checked(item)
    except InvalidInputError as error:
        raise _wrong(number, str(error).rstrip(".")) from error
    return item


def _wrong(number: int, what: str) -> InvalidInputError:
    return InvalidInputError(f"Line {number}: {what}. Nothing was stored.")
