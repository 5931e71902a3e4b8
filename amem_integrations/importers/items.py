"""Items: what an importer reads out of a foreign file, and what it leaves out, with a reason."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

BROKEN = "broken"
_ERRORS = (
    *(AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError, OSError),
    RecursionError,
)
_MILLISECONDS = 10**11


@dataclass(frozen=True, slots=True)
class Item:
    """A turn of a conversation, or a note, as a foreign file has it.

    Attributes:
        content: the text.
        key: made of the file's own ids, so that the same item is the same note each time.
        source: "user" or "assistant": whose word it is.
        speaker: who said it.
        session: the conversation it was said in.
        occurred_at: when.
        changed_at: when the text was written, of a note without a date of its own.
        metadata: what else the file says of it.
        links: by the keys of other items, how they are named in the text.
    """

    content: str
    key: str
    source: str = "user"
    speaker: str | None = None
    session: str | None = None
    occurred_at: datetime | None = None
    changed_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    links: dict[str, str] = field(default_factory=dict[str, str], hash=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not imported.

    Attributes:
        reason: what it is, such as "media"; BROKEN for what cannot be read.
        where: which entry of which file, and what is wrong with it; "" unless it is broken.
    """

    reason: str
    where: str = ""


Entry: TypeAlias = Item | LeftOut


def read_each(
    values: Iterable[Any], read: Callable[[Any], Entry | Iterable[Entry]], where: str
) -> Iterator[Entry]:
    """What `read` makes of each value. One that is not as expected is broken, and named."""
    for number, value in enumerate(values, 1):
        try:
            found = read(value)
            entries = [found] if isinstance(found, Item | LeftOut) else list(found)
        except _ERRORS as error:
            entries = [broken(f"{where} {number}", error)]
        yield from entries


def broken(where: str, error: Exception) -> LeftOut:
    """A broken entry, with what was wrong about it."""
    what = f"no {error}" if isinstance(error, KeyError) else str(error)
    return LeftOut(BROKEN, f"{where}: {what[:200] or type(error).__name__}")


def moment(value: Any) -> datetime | None:
    """The time that a number (seconds or milliseconds since 1970) or an ISO text stands for."""
    if value in (None, "", 0):
        return None
    if isinstance(value, str):
        text = value.strip()
        if not re.fullmatch(r"\d+(?:\.\d+)?", text):
            return datetime.fromisoformat(text)
        value = float(text)
    seconds = float(value)
    return datetime.fromtimestamp(seconds / 1000 if seconds > _MILLISECONDS else seconds, UTC)


def dated(time: datetime | None) -> float:
    """A number to sort by time; what has none comes first."""
    if time is None:
        return float("-inf")
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def joined_text(content: Any) -> str:
    """The text of a message that is a text, a list of parts, or an object with one of these."""
    match content:
        case None:
            return ""
        case str():
            return content
        case {"text": inner} | {"parts": inner}:
            return joined_text(inner)
        case [*parts]:
            texts = (joined_text(part) for part in parts if isinstance(part, str | dict))
            return "\n".join(text for text in texts if text.strip())
        case _:
            return ""


class Keys:
    """Keys for entries without ids: a digest of what they say, and how often it came before."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, *parts: object) -> str:
        text = json.dumps([None if part is None else str(part) for part in parts])
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        self._seen[digest] += 1
        count = self._seen[digest]
        return digest if count == 1 else f"{digest}-{count}"
