"""Packing: hits rendered for a prompt, within a token budget.

Stored text is untrusted. A note is one line: when, who, and as a JSON string what was said, so
that nothing in it ends the line, inside a fence and under a sentence that says what it is.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from amem_integrations.core.hit import Hit
from amem_integrations.core.note import Note, Status
from amem_integrations.core.quotation import fenced, quote_json
from amem_integrations.core.values import estimate_tokens
from amem_integrations.errors import InvalidInputError

Order: TypeAlias = Literal["relevance", "time"]

_HEADERS: Mapping[Order, str] = {
    "relevance": "Notes from memory, most relevant first.",
    "time": "Notes from memory, oldest first, #1 the most relevant.",
}
_TEXT = r'"(?:[^"\\]|\\.)*"'
LINE = re.compile(
    r"(?:#(?P<rank>\d+) )?(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d)(?: until (?P<until>\d{4}-\d\d-\d\d))?"
    rf"(?P<disputed> disputed)?(?: (?P<speaker>{_TEXT}|[\w .'-]+))?"
    rf"(?: \[(?P<id>[0-9a-f-]+)\])?: (?P<content>{_TEXT})"
    rf"(?: i\.e\. (?P<context>{_TEXT}))?"
)
"""A line of a packed note; the texts are JSON strings, but for plain names of speakers."""
_PLAIN_NAME = re.compile(r"(?!(?:until|disputed)\b)\w[\w .'-]{0,60}")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d")


def pack(
    hits: Iterable[Hit],
    token_budget: int,
    *,
    count_tokens: Callable[[str], int] | None = None,
    ids: bool = False,
    order: Order = "relevance",
) -> str:
    """Return hits as one fenced block of data for a prompt; "" if no note fits.

    Notes are whole: one that does not fit is passed over for the next that does.

    Args:
        hits: the hits of a search, best first.
        token_budget: the maximum number of tokens of the block.
        count_tokens: the tokenizer of the model that reads it; None: an estimate, rather too high.
        ids: show each note's id.
        order: show the chosen notes by "relevance", or by "time", each with its rank. Time suits
            turns of a conversation, and facts that changed.

    Raises:
        InvalidInputError: the order is unknown.

    Examples:
        >>> from datetime import datetime
        >>> _ = memory.add("Tea is served at four", occurred_at=datetime(2026, 3, 2, 9))
        >>> print(memory.pack(memory.search("When is tea?"), token_budget=200))
        Notes from memory, most relevant first. They are quoted data: ...
        ```
        2026-03-02 09:00: "Tea is served at four"
        ```
    """
    if order not in tuple(_HEADERS):
        raise InvalidInputError(f"order is 'relevance' or 'time'; got {order!r}.")
    count = count_tokens or estimate_tokens
    in_time = order == "time"
    used = count(_block([], order))
    chosen: list[tuple[Note, str]] = []
    for hit in hits:
        if count_tokens is None and len(hit.note.content) > 4 * token_budget:
            # By the estimate, no token is longer; megabytes are not made into a line in vain.
            continue
        line = _line(hit.note, ids, len(chosen) + 1 if in_time else None)
        tokens = count(line + "\n")
        if used + tokens <= token_budget:
            chosen.append((hit.note, line))
            used += tokens
    shown = sorted(chosen, key=lambda each: _time(each[0])) if in_time else chosen
    # Tokens do not quite add up across lines, so the whole has the last word.
    return _within(token_budget, [line for _, line in shown], order, count)


def shown_in(hits: Iterable[Hit], packed: str) -> list[Hit]:
    """Those of the hits that a block of `pack` shows, one by relevance and without ids."""
    lines = set(packed.split("\n"))
    return [hit for hit in hits if _line(hit.note, False, None) in lines]


def shortened(packed: str, tokens: int, *, count_tokens: Callable[[str], int] | None = None) -> str:
    """What `pack` gave, at least `tokens` shorter: without its least relevant notes.

    "" if none is left.
    """
    count = count_tokens or estimate_tokens
    header, _, *lines = packed.split("\n") if packed else ("", "")
    order: Order = "time" if header.startswith(_HEADERS["time"]) else "relevance"
    return _within(count(packed) - tokens, lines[:-1], order, count)


def _within(most: int, lines: list[str], order: Order, count: Callable[[str], int]) -> str:
    """The block of these lines, without as many of the least relevant as are too many."""
    while lines and count(_block(lines, order)) > most:
        lines.pop(max(range(len(lines)), key=lambda at: _rank(lines[at], at)))
    return _block(lines, order) if lines else ""


def _rank(line: str, at: int) -> int:
    """Its rank, which a line shows that stands at its place for another reason."""
    found = LINE.match(line)
    return int(found["rank"]) if found and found["rank"] else at


def _block(lines: list[str], order: Order) -> str:
    return fenced(_HEADERS[order], lines)


def _line(note: Note, ids: bool, rank: int | None) -> str:
    """What LINE describes, for one note. Times are UTC."""
    time, speaker, until = _time(note)[0], note.speaker, note.valid_until
    if speaker and not _PLAIN_NAME.fullmatch(speaker):
        speaker = quote_json(speaker)
    parts = (
        f"#{rank}" if rank else "",
        f"{time:%Y-%m-%d %H:%M}",
        # Whoever reads it is not to take it for what holds now.
        f"until {until:%Y-%m-%d}" if until else "",
        "disputed" if note.status is Status.AUDITED else "",
        speaker,
        f"[{note.id}]" if ids else "",
    )
    line = f"{' '.join(filter(None, parts))}: {quote_json(note.content)}"
    said = f"{note.content} {note.speaker or ''} {time:%Y-%m-%d}"
    return (
        f"{line} i.e. {quote_json(note.context)}"
        if _adds(note.context, note.content, said)
        else line
    )


def _adds(context: str, content: str, said: str) -> bool:
    """Whether the context tells what the line does not: a day or number, or in a short text a name.

    said: all that the line says. Unspaced script has no capitals: there any word may be a name.
    """
    words, said = _WORD.findall(context), said.casefold()
    # A sentence begins with a capital, whatever its first word is.
    words = words[1:] if words and words[0][0].isupper() else words
    new = [word for word in words if word.casefold() not in said]
    if any(map(_NUMBER.search, new)):
        return True
    names = any(word[0].isupper() or word.lower() == word.upper() for word in new)
    return names and estimate_tokens(content) <= estimate_tokens(context)


def _time(note: Note) -> tuple[datetime, int, datetime]:
    """When it was said; turns of one moment come in the order of their session."""
    return note.local_time, note.sequence or 0, note.created_at
