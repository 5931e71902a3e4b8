"""The caller's own JSON, kept as one string.

Nothing that a caller nests reaches the engine: a payload nested 127 deep destroys an
embedded shard, and engines change 2^64, NaN and tuples. A string they keep as it is.
"""

import json
import math
from typing import Any

from amem_integrations.errors import InvalidInputError

MAX_DEPTH = 100
MAX_BYTES = 8 * 1024 * 1024


def dumps(name: str, value: Any) -> str:
    """`value` as JSON text; `name` is used in errors.

    Raises InvalidInputError for what JSON cannot hold (NaN, bytes, keys that are not
    strings, other objects), for nesting beyond MAX_DEPTH and for more than MAX_BYTES.
    """
    _check(name, value, 1)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        # Lone surrogates survive as escapes.
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        size = len(text)
    if size > MAX_BYTES:
        raise InvalidInputError(f"{name} has {size} bytes as JSON; at most {MAX_BYTES} are kept.")
    return text


def loads(text: str) -> Any:
    return json.loads(text)


def _check(path: str, value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInputError(
            f"{path.split('.')[0]} is nested more than {MAX_DEPTH} levels deep."
        )
    match value:
        case None | bool() | int() | str():
            return
        case float():
            if not math.isfinite(value):
                raise InvalidInputError(f"{path} is {value}, which JSON has no way to write.")
        case dict():
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                if not isinstance(key, str):
                    raise InvalidInputError(
                        f"{path} has a key of type {type(key).__name__}; "  # pyright: ignore[reportUnknownArgumentType]
                        "JSON keys are strings."
                    )
                _check(f"{path}.{key}", item, depth + 1)
        case list() | tuple():
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                _check(f"{path}[]", item, depth + 1)
        case _:
            raise InvalidInputError(
                f"{path} is a {type(value).__name__}, which JSON cannot hold. "
                "Convert it first (str(), isoformat(), base64)."
            )
