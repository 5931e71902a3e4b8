"""Finding the JSON object in what a chat model wrote.

Tolerates reasoning before the answer, prose and fences around it, and trailing commas. Does
not complete what was cut off: half an answer is no answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

MAX_CHARS = 1_000_000
_MAX_STARTS = 50

_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
# A string that never ends is taken whole: tried again from each of its quotes it would cost n².
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.S)


def find_object(text: str, schema: Mapping[str, object]) -> dict[str, object] | None:
    """The object in `text` that answers `schema`, or None.

    Of several, the one with the most of the schema's properties, and of those the last: models
    draft first and answer then. One that lacks required properties is taken only if it is the
    first thing in braces, for inside a broken answer there may be whole smaller objects.
    """
    if len(text) > MAX_CHARS:
        return None
    reasoning = _REASONING.match(text)
    answer = text[reasoning.end() :] if reasoning else text
    properties = cast("Mapping[str, object]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    return _best(answer, properties, required) or _best(
        _TRAILING_COMMA.sub(lambda match: match[1] or "", answer), properties, required
    )


def _best(
    text: str, properties: Mapping[str, object], required: list[str]
) -> dict[str, object] | None:
    best: dict[str, object] | None = None
    best_fit = 1
    for first, found in _objects(text):
        fit = len(properties.keys() & found.keys())
        if fit >= best_fit and (first or found.keys() >= set(required)):
            best, best_fit = found, fit
    return best


def _objects(text: str) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Each whole object with nothing whole around it, and whether it is the first in braces."""
    # NaN and Infinity are not JSON, though Python reads them.
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
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
