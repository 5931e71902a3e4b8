"""Evidence as a reader sees it: from its text alone, who said what, and when.

Knows how `pack` quotes notes and how the other systems show turns. Used by readers that are no
model; a model reads the text as it is.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

_DATED = re.compile(r"\[(\d{4}-\d\d-\d\d)\]\s*(.*)")
_SPEAKER = re.compile(r"([^:\n]{1,40}): (.+)")
_PACKED = re.compile("`{3,}jsonl")
_FENCE = re.compile("`{3,}(?:jsonl)?")


@dataclass(frozen=True, slots=True)
class Said:
    """A line of evidence. at: the beginning of the day or the moment it is shown with."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


def quoted(text: str) -> list[Said]:
    """The lines of an evidence's text; a date alone on a line is that of those that follow."""
    found: list[Said] = []
    day: datetime | None = None
    lines = [line for line in text.split("\n") if line.strip() and not _FENCE.fullmatch(line)]
    packed = _PACKED.search(text) is not None
    for line in lines:
        if packed:
            found += _note(line)
            continue
        dated = _DATED.fullmatch(line)
        at = datetime.fromisoformat(dated[1]).replace(tzinfo=UTC) if dated else day
        said = dated[2] if dated else line
        if not said:
            day = at
            continue
        spoken = _SPEAKER.fullmatch(said)
        found.append(Said(spoken[2], spoken[1], at) if spoken else Said(said, None, at))
    return found


def _note(line: str) -> Iterator[Said]:
    """A note of a packed block; the sentence above the block is none."""
    if not line.startswith("{"):
        return
    note = cast("dict[str, Any]", json.loads(line))
    yield Said(note["content"], note.get("speaker"), datetime.fromisoformat(note["time"]))
