"""Fields of foreign JSON, checked one by one; each error says where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from amem_integrations.core.note import as_utc
from amem_integrations.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object. `where` names its place in the file, such as "line 12"."""

    value: Mapping[str, Any]
    where: str

    @classmethod
    def of(cls, value: object, where: str) -> "Fields":
        """Raises InvalidInputError for anything but an object."""
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{where}: expected a JSON object; got {_kind(value)}.")
        return cls(cast("Mapping[str, Any]", value), where)

    def wrong(self, name: str, expected: str) -> InvalidInputError:
        got = _kind(self.value[name]) if name in self.value else "nothing"
        return InvalidInputError(f'{self.where}: "{name}" is {expected}; got {got}.')

    def text(self, name: str) -> str:
        """A string that has to be there."""
        value = self.value.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def optional(self, name: str) -> str | None:
        """A string, or None where it is missing, null or empty."""
        return self.text(name) or None if self.value.get(name) is not None else None

    def said(self, name: str) -> str | None:
        """A string, a number as a string, or None where it is missing, null or empty."""
        value = self.value.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if number else self.optional(name)

    def id(self, name: str) -> str:
        """A string or a whole number, as a string."""
        value = self.value.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise self.wrong(name, "a string or a whole number")
        return str(value)

    def ids(self, name: str, *, required: bool = True) -> list[str]:
        """A list of strings or whole numbers, as strings."""
        if not required and self.value.get(name) is None:
            return []
        values = self.list(name)
        return [Fields({name: value}, self.where).id(name) for value in values]

    def list(self, name: str) -> "list[Any]":
        value = self.value.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return cast("list[Any]", value)

    def moment(self, name: str) -> datetime | None:
        """An ISO 8601 date or time, UTC where it names no offset; None where it is missing."""
        text = self.optional(name)
        if text is None:
            return None
        try:
            return as_utc(datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            raise self.wrong(name, "an ISO 8601 date or time") from None

    def flag(self, name: str, default: bool) -> bool:
        value = self.value.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return repr(value) if len(repr(value)) <= 60 else f"a {type(value).__name__}"
