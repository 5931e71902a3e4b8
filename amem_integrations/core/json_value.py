"""The caller's own JSON, kept as one string.

Nothing that a caller nests reaches the engine: a payload nested 127 deep destroys an
embedded shard, and engines change 2^64, NaN and tuples. A string they keep as it is.
"""

import json
import math
from typing import Any, cast

from amem_integrations.errors import InvalidInputError

MAX_DEPTH = 100
MAX_BYTES = 8 * 1024 * 1024
# Python itself refuses to read back much more than 4300 digits.
_MAX_INTEGER_BITS = 14_280
_MAX_PLACE_CHARS = 200


def dumps(name: str, value: Any) -> str:
    """`value` as JSON text; `name` is used in errors.

    Raises InvalidInputError for what JSON cannot hold (NaN, bytes, keys that are not
    strings, other objects), for integers of more than 4300 digits, for containers nested
    beyond MAX_DEPTH and for more than MAX_BYTES.
    """
    _Check(name).visit(value, 0)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        # Lone surrogates survive as escapes.
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        size = len(text)
    if size > MAX_BYTES:
        raise _too_large(name)
    return text


def loads(text: str) -> Any:
    return json.loads(text)


def parse_object(text: str | None, name: str) -> dict[str, Any] | None:
    """The JSON object that a user typed, such as a filter.

    name: what the text was given as, for errors.

    Raises InvalidInputError if it is no JSON object.
    """
    if text is None:
        return None
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise InvalidInputError(f'{name} is a JSON object, such as {{"speaker": "Marta"}}.')
    return cast("dict[str, Any]", data)


class _Check:
    """Raises InvalidInputError for the first thing in a value that cannot be kept."""

    def __init__(self, name: str) -> None:
        self._name = name
        # Put together only for an error: keys can be long and their values many.
        self._path: list[str] = []
        # Of the text, without quotes and brackets: a few shared objects can be endless as text.
        self._size = 0

    def visit(self, value: Any, depth: int) -> None:
        self._grow(1)
        match value:
            case None | bool():
                return
            case str():
                self._grow(len(value))
            case int():
                if value.bit_length() > _MAX_INTEGER_BITS:
                    raise InvalidInputError(
                        f"{self._place()} is an integer of more than 4300 digits; "
                        "keep it as a string."
                    )
            case float():
                if not math.isfinite(value):
                    raise InvalidInputError(
                        f"{self._place()} is {value}, which JSON has no way to write."
                    )
            case dict():
                self._deeper(depth)
                for key, item in cast("dict[Any, Any]", value).items():
                    if not isinstance(key, str):
                        raise InvalidInputError(
                            f"{self._place()} has a key of type {type(key).__name__}; "
                            "JSON keys are strings."
                        )
                    self._grow(len(key))
                    self._path.append(f".{key[:_MAX_PLACE_CHARS]}")
                    self.visit(item, depth + 1)
                    self._path.pop()
            case list() | tuple():
                self._deeper(depth)
                self._path.append("[]")
                for item in cast("list[Any]", value):
                    self.visit(item, depth + 1)
                self._path.pop()
            case _:
                raise InvalidInputError(
                    f"{self._place()} is a {type(value).__name__}, which JSON cannot hold. "
                    "Convert it first (str(), isoformat(), base64)."
                )

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > MAX_BYTES:
            raise _too_large(self._name)

    def _deeper(self, depth: int) -> None:
        if depth == MAX_DEPTH:
            raise InvalidInputError(
                f"{self._name} is nested more than {MAX_DEPTH} levels deep. Flatten it."
            )

    def _place(self) -> str:
        place = self._name + "".join(self._path)
        return place if len(place) <= _MAX_PLACE_CHARS else place[:_MAX_PLACE_CHARS] + "…"


def _too_large(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name} takes more than {MAX_BYTES} bytes as JSON, the most kept.")
