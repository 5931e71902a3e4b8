"""Single values of a note: checks of text, terms and times; tokens of a text; a short `repr`."""

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from amem_integrations.core.quotation import INVISIBLE
from amem_integrations.errors import InvalidInputError

MAX_CONTENT_BYTES = 16 * 1024 * 1024
MAX_TERM_CHARS = 200

# Tokenizers pack letters of English words, and spaces, several to a token. Nearly everything else
# takes about one token a character: digits, punctuation, and the letters of other scripts.
_DENSE = re.compile(r"[^A-Za-z\s]")
_WORD = re.compile("[A-Za-z]+")
_LONGEST_WORD, _SHORTEST_RUN = 64, 60
_BASE = "[A-Za-z0-9+/_=-]"
# Base64, hexadecimal and the like: lines without a space, longer than words are.
_RUN = re.compile(
    r"(?:data:[\w.+/-]{0,80}(?:;[\w=.-]{1,40}){0,4},)?"
    rf"(?<!{_BASE}){_BASE}{{{_SHORTEST_RUN},}}(?:\r?\n{_BASE}{{{_SHORTEST_RUN},}})*"
)
_BREAK, _CAPITAL, _DIGIT = re.compile("[/_=-]"), re.compile("[A-Z]"), re.compile("[0-9]")
# Not of scripts that set no space between words: there it would be a sentence.
_LONG_WORD = re.compile(
    rf"([^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\uffef"
    rf"\U00020000-\U0003ffff]{{{_LONGEST_WORD}}})\w+"
)
_BLANK = re.compile(f"[\\s{INVISIBLE}]*")


def check_content(content: object) -> None:
    """Raise InvalidInputError unless `content` is text that can be stored as given."""
    check_text("content", content, limit=MAX_CONTENT_BYTES)


def check_text(name: str, text: object, limit: int = 4096) -> None:
    """Raise InvalidInputError unless `text` can be stored as given; limit: bytes."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be text; got {type(text).__name__}.")
    if is_blank(text):
        raise InvalidInputError(f"{name} is empty or blank; there is nothing to remember.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} holds a lone surrogate at position {error.start}, which is not valid "
            "Unicode. Clean it, for example with text.encode('utf-8', 'replace').decode()."
        ) from error
    if size > limit:
        raise InvalidInputError(f"{name} has {size} bytes; at most {limit} can be stored.")


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: nothing but space and invisible characters."""
    return _BLANK.fullmatch(text) is not None


def check_sequence(sequence: object) -> None:
    """Raise InvalidInputError unless it is a whole number of 64 bits."""
    if not isinstance(sequence, int) or isinstance(sequence, bool):
        raise InvalidInputError(f"sequence must be an int; got {type(sequence).__name__}.")
    if not -(2**63) <= sequence < 2**63:
        raise InvalidInputError("sequence must fit a signed integer of 64 bits.")


def as_aware(moment: datetime) -> datetime:
    """`moment` with the offset that it has; a naive datetime is taken as UTC."""
    aware = as_utc(moment)
    return aware if moment.tzinfo is None else moment


def on_clock(moment: datetime, utc_offset: int | None) -> datetime:
    """An aware moment on a clock that is so many minutes ahead of UTC; None: as it is."""
    if utc_offset is None:
        return moment
    try:
        return moment.astimezone(timezone(timedelta(minutes=utc_offset)))
    except OverflowError:
        # The first or last day of the calendar.
        return moment


def as_utc(moment: datetime) -> datetime:
    """`moment` as aware UTC; a naive datetime is taken as UTC."""
    if not isinstance(moment, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"Expected a datetime; got {type(moment).__name__}.")
    try:
        naive = moment.utcoffset() is None
        return moment.replace(tzinfo=UTC) if naive else moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(f"{moment} has no equivalent in UTC.") from error


def clean_terms(terms: Iterable[object], limit: int) -> tuple[str, ...]:
    """Keywords or tags as they may be stored: stripped, non-empty, unique, bounded.

    Order is kept and case is not folded; a repetition that differs only in case is dropped.
    """
    kept: dict[str, str] = {}
    for term in terms:
        if len(kept) >= limit:
            break
        text = clean_text(term, MAX_TERM_CHARS) if isinstance(term, str) else ""
        if text:
            kept.setdefault(text.casefold(), text)
    return tuple(kept.values())


def clean_text(text: str, limit: int) -> str:
    """`text` on one line, without what cannot be stored, cut to `limit` characters.

    "" when there is nothing to see in it.
    """
    safe = text.encode("utf-8", "ignore").decode().replace("\x00", "")
    line = " ".join(safe.split())[:limit].strip()
    return "" if is_blank(line) else line


def readable(text: str) -> str:
    """`text` without encoded data such as images in base64, and with very long words cut.

    A text of nothing else is cut to its beginning. Takes time linear to its length.
    """
    if max(map(len, text.split()), default=0) < _SHORTEST_RUN:
        return text
    kept = _LONG_WORD.sub(r"\1", _RUN.sub(_unless_encoded, text))
    return text[:_LONGEST_WORD] if is_blank(kept) else kept


def _unless_encoded(run: re.Match[str]) -> str:
    """Paths and slugs are long, too; but they are made of words, in one case."""
    text = run[0]
    if text.startswith("data:"):
        return " "
    longest = max(map(len, _BREAK.split(text)))
    capitals, digits = _CAPITAL.subn("", text)[1], _DIGIT.subn("", text)[1]
    is_mixed = capitals > 0.15 * len(text) and digits > 0.05 * len(text)
    return " " if len(text) > _LONGEST_WORD and (longest > 40 or is_mixed) else text


def estimate_tokens(text: str) -> int:
    """Tokens in `text`, an estimate that rarely falls much below what a tokenizer counts."""
    dense = _DENSE.subn("", text)[1]
    packed = len(text) - dense
    return dense + max(-(-packed // 4), _WORD.subn("", text)[1])


if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def brief(value: "DataclassInstance") -> str:
    """The `repr` of a dataclass, without the fields that have their default."""
    shown = (
        f"{field.name}={held!r}"
        for field in fields(value)
        if field.repr
        and ((held := getattr(value, field.name)) != field.default or field.default is MISSING)
    )
    return f"{type(value).__name__}({', '.join(shown)})"
