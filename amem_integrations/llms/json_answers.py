"""The JSON object in the text of an answer, also where it is nearly JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

MAX_CHARS = 1_000_000
_MAX_STARTS = 50

_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
# What is near to JSON: other quotes, comments, commas before a bracket, Python's constants. A
# string that never ends is taken whole: tried again from each of its quotes it would cost n².
_NEAR_JSON = re.compile(
    r"""("(?:[^"\\]|\\.)*+"?)"""
    r"""|(?<=[\s{\[,:])'((?:[^'\\]|\\.|'(?!\s*[,:}\]]))*+)'?"""
    r"""|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=(?:\s|//[^\n]*)*+[}\]])|\b(?:True|False|None)\b""",
    re.S,
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}


def find_object(text: str, schema: Mapping[str, object]) -> dict[str, object] | None:
    """Return the JSON object in `text` that answers `schema`, or None.

    Reasoning, prose and fences around it are tolerated, as are trailing commas, comments, single
    quotes and line breaks in strings; it may stand under one outer key, or in a string of JSON. An
    object that was cut off is not completed, as it would be by the libraries that repair JSON.
    Of several objects, the one with the most of the schema's properties is taken, and of those the
    last: models draft first and answer then. One that lacks required properties is taken only if it
    is the first thing in braces, for inside a broken answer there may be whole smaller objects.
    """
    if len(text) > MAX_CHARS:
        return None
    reasoning = _REASONING.match(text)
    answer = text[reasoning.end() :] if reasoning else text
    encoded = _read_json(answer.strip("`\n ")) if answer.lstrip("`\n ").startswith('"') else None
    if isinstance(encoded, str):
        answer = encoded
    return _best_object(answer, schema) or _best_object(_NEAR_JSON.sub(_as_json, answer), schema)


def unwrap(found: Mapping[str, Any], schema: Mapping[str, object]) -> dict[str, Any]:
    """Return the object that stands under the one key of `found`, if that key is not asked for."""
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    if len(found) == 1 and not found.keys() & properties.keys():
        (inner,) = found.values()
        inner = _read_json(inner) if isinstance(inner, str) else inner
        if isinstance(inner, dict):
            return cast("dict[str, Any]", inner)
    return dict(found)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def _as_json(found: re.Match[str]) -> str:
    """Return as JSON what `_NEAR_JSON` found."""
    if found[1] is not None or (found[2] is not None and not found[0].endswith("'")):
        return found[0]
    if found[2] is None:
        return _CONSTANTS.get(found[0], "")
    # Of the escapes, \\' is none in JSON; a double quote needs one.
    inner = re.sub(
        r"""\\(.)|\"""",
        lambda m: "'" if m[1] == "'" else m[0] if m[1] else '\\"',
        found[2],
        flags=re.S,
    )
    return f'"{inner}"'


def _best_object(text: str, schema: Mapping[str, object]) -> dict[str, object] | None:
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    required = set(cast("list[str]", schema.get("required", [])))
    best: dict[str, object] | None = None
    best_fit = 1
    for first, found in _objects(text):
        found = unwrap(found, schema)
        fit = len(properties.keys() & found.keys())
        if fit >= best_fit and (first or found.keys() >= required):
            best, best_fit = found, fit
    return best


def _objects(text: str) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield each whole outermost object, and whether it is the first thing in braces."""
    # NaN and Infinity are not JSON, though Python reads them.
    decoder = json.JSONDecoder(parse_constant=lambda _: None, strict=False)
    start = first = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            return
        end = start + 1
        try:
            found, end = decoder.raw_decode(text, start)
            yield start == first, found
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)
