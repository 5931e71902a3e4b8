"""Which texts of a note are embedded.

A short note is embedded as one text: content, context, keywords and tags together
(paper §3.1). A long one is embedded passage by passage, what was understood of it in a
passage of its own, so that a change of understanding leaves the other vectors alone. A note
that was put together from several texts is embedded as these and nothing else, so that its
score is what the texts themselves deserve.
"""

import re
from collections.abc import Iterator

from amem_integrations.core.note import Note
from amem_integrations.core.values import estimate_tokens

PASSAGE_TOKENS = 200
FIRST_PASSAGES = 4

# The end of a sentence or line. A full stop inside of a number or an address is none.
_BOUNDARY = re.compile(r"""(?:[.!?]["'”’)\]]*(?=\s)|[。！？][”’」』）]*|\n)\s*""")


def passages(note: Note) -> list[str]:
    """The texts to embed, one vector each; the first FIRST_PASSAGES suffice to find it."""
    if note.texts is not None:
        return [piece for text in note.texts for piece in _fitting(text)]
    whole = "\n".join(part for part in (note.content, understanding(note)) if part)
    if estimate_tokens(whole) <= PASSAGE_TOKENS:
        return [whole]
    return [*split(note.content), *split(understanding(note))]


def _fitting(text: str) -> list[str]:
    return [text] if estimate_tokens(text) <= PASSAGE_TOKENS else split(text)


def sparse_text(note: Note) -> str:
    """The text whose words are indexed."""
    return "\n".join(part for part in (note.content, understanding(note)) if part)


def understanding(note: Note) -> str:
    """Context, keywords and tags as one text; empty for a raw note."""
    terms = [", ".join(note.keywords), ", ".join(note.tags)]
    return "\n".join(part for part in (note.context, *terms) if part)


def split(text: str, limit: int = PASSAGE_TOKENS) -> list[str]:
    """`text` in pieces of at most `limit` estimated tokens, cut at sentence ends if it can.

    Each piece is a stretch of the text; only space between them is left out.
    """
    pieces: list[str] = []
    start = size = 0
    for begin, end in _sentences(text, limit):
        tokens = estimate_tokens(text[begin:end])
        if size + tokens > limit:
            pieces.append(text[start:begin].strip())
            start, size = begin, 0
        size += tokens
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def _sentences(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Where sentences begin and end, those that are too long for one passage cut up."""
    begin = 0
    for boundary in _BOUNDARY.finditer(text):
        yield from _slices(text, begin, boundary.end(), limit)
        begin = boundary.end()
    yield from _slices(text, begin, len(text), limit)


def _slices(text: str, begin: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """The whole stretch, or cut after spaces, or anywhere, when it is too long."""
    while begin < end:
        stop = min(end, begin + limit * 4)
        while estimate_tokens(text[begin:stop]) > limit:
            stop = begin + (stop - begin) * 3 // 4
        if stop < end:
            space = text.rfind(" ", begin + (stop - begin) // 2, stop)
            stop = space + 1 if space >= 0 else stop
        yield begin, stop
        begin = stop
