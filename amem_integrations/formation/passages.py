"""Which texts of a note are embedded.

A short note is embedded as one text: content, context, keywords and tags together
(paper §3.1). A long one is embedded passage by passage, what was understood of it in a
passage of its own, so that a change of understanding leaves the other vectors alone.
"""

import re
from collections.abc import Iterator

from amem_integrations.note import Note
from amem_integrations.tokens import estimate_tokens

PASSAGE_TOKENS = 200
FIRST_PASSAGES = 4

_BOUNDARY = re.compile(r"(?<=[.!?。！？\n])\s*")


def passages(note: Note) -> list[str]:
    """The texts to embed, one vector each; the first FIRST_PASSAGES suffice to find it."""
    whole = "\n".join(part for part in (note.content, understanding(note)) if part)
    if estimate_tokens(whole) <= PASSAGE_TOKENS:
        return [whole]
    parts = split(note.content)
    understood = understanding(note)
    return [*parts, understood] if understood else parts


def sparse_text(note: Note) -> str:
    """The text whose words are indexed."""
    return "\n".join(part for part in (note.content, understanding(note)) if part)


def understanding(note: Note) -> str:
    """Context, keywords and tags as one text; empty for a raw note."""
    terms = [", ".join(note.keywords), ", ".join(note.tags)]
    return "\n".join(part for part in (note.context, *terms) if part)


def split(text: str, limit: int = PASSAGE_TOKENS) -> list[str]:
    """`text` in pieces of at most `limit` estimated tokens, cut at sentence ends if it can."""
    pieces: list[str] = []
    current: list[str] = []
    size = 0
    for sentence in _sentences(text, limit):
        tokens = estimate_tokens(sentence)
        if current and size + tokens > limit:
            pieces.append(" ".join(current))
            current, size = [], 0
        current.append(sentence)
        size += tokens
    if current:
        pieces.append(" ".join(current))
    return pieces


def _sentences(text: str, limit: int) -> list[str]:
    found: list[str] = []
    for sentence in _BOUNDARY.split(text):
        found.extend(_slices(sentence.strip(), limit))
    return found


def _slices(text: str, limit: int) -> Iterator[str]:
    """`text` itself, or cut at spaces, or anywhere, when it is too long for one passage."""
    start = 0
    while start < len(text):
        end = min(len(text), start + limit * 4)
        while estimate_tokens(text[start:end]) > limit:
            end = start + (end - start) * 3 // 4
        if end < len(text):
            space = text.rfind(" ", start + (end - start) // 2, end)
            end = space if space > 0 else end
        piece = text[start:end].strip()
        if piece:
            yield piece
        start = end
