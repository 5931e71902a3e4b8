"""What is embedded of a note, and the points that are written for notes.

A short note is embedded as one text: content, context,
questions, keywords and tags together (after paper §3.1).
A long one is embedded passage by passage, with its understanding in a passage of its own, so that
a new understanding leaves the other vectors alone. A note that was put together from several texts
is embedded as these and nothing else, so that its score is what the texts themselves deserve.
Encoded data, such as an image in base64, is stored and not embedded.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from amem_integrations.core.engine import Point, Vector
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.core.values import estimate_tokens, readable
from amem_integrations.stores.codec import note_from, note_point

PASSAGE_TOKENS = 200
FIRST_PASSAGES = 4
_WORD = re.compile(r"\w+")
_LONGEST_COMPARED = 20_000

# The end of a sentence or line. A full stop inside of a number or an address is none.
_BOUNDARY = re.compile(r"""(?:[.!?]["'”’)\]]*(?=\s)|[。！？][”’」』）]*|\n)\s*""")


def passages(note: Note) -> list[str]:
    """The texts to embed, one vector each; the first FIRST_PASSAGES suffice to find it."""
    if note.texts is not None:
        return [piece for text in note.texts for piece in _fitting(readable(text))]
    content = readable(note.content)
    added = understanding(note) if _says_more(note, content) else ""
    whole = "\n".join(part for part in (content, added) if part)
    if estimate_tokens(whole) <= PASSAGE_TOKENS:
        return [whole]
    return [*split(content), *split(added)]


def _says_more(note: Note, content: str) -> bool:
    """Whether context or questions have a word that neither the text nor the speaker's name has.

    Statistics take theirs from these. Then there is nothing to embed again, and terms are found
    by words.
    """
    said = f"{note.speaker or ''} {content[:_LONGEST_COMPARED]}".casefold()
    words = frozenset(_WORD.findall(said))
    told = _WORD.findall(" ".join((note.context, *note.questions)).casefold())
    return any(word not in words and word not in said for word in told)


def _fitting(text: str) -> list[str]:
    return [text] if estimate_tokens(text) <= PASSAGE_TOKENS else split(text)


def embedded_texts(note: Note) -> tuple[str, ...]:
    """All texts that are embedded of it."""
    return (*passages(note), *note.questions)


def sparse_text(note: Note) -> str:
    """The text whose words are indexed."""
    return "\n".join(part for part in (note.content, understanding(note)) if part)


def understanding(note: Note) -> str:
    """Context, questions, keywords and tags as one text; empty for a raw note."""
    terms = [", ".join(note.keywords), ", ".join(note.tags)]
    return "\n".join(part for part in (note.context, *note.questions, *terms) if part)


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


# -- points -------------------------------------------------------------------------------------


async def embedded_points(
    io: IO,
    notes: Sequence[Note],
    *,
    first: int | None = None,
    known: Mapping[str, Vector] | None = None,
) -> list[Point]:
    """A point for each note, all texts embedded in one request.

    A note's questions are embedded apart from its text as well.
    first: embed only that many passages of a note. known: vectors of texts embedded before.
    """
    texts = [passages(note)[:first] for note in notes]
    wanted = (
        text for note, parts in zip(notes, texts, strict=True) for text in (*parts, *note.questions)
    )
    vectors = await vectors_of(io, wanted, known or {})
    return [
        note_point(
            note,
            [vectors[text] for text in parts],
            io.sparse.document(sparse_text(note)),
            [vectors[question] for question in note.questions],
        )
        for note, parts in zip(notes, texts, strict=True)
    ]


async def vectors_of(
    io: IO, texts: Iterable[str], known: Mapping[str, Vector]
) -> dict[str, Vector]:
    """A vector for each text, those that are not known embedded in one request."""
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    return {**known, **dict(zip(missing, await io.embed(missing) if missing else (), strict=True))}


async def known_vectors(io: IO, before: Sequence[Note], after: Sequence[Note]) -> dict[str, Vector]:
    """The stored vectors of notes by the text they stand for, where any is still wanted.

    before: the notes as they are stored. after: as they will be.
    """
    wanted = {text for note in after for text in embedded_texts(note)}
    reusable = [note.id for note in before if not wanted.isdisjoint(embedded_texts(note))]
    return vectors_by_text(await io.engine.get(reusable, vectors=True)) if reusable else {}


def vectors_by_text(points: Iterable[Point]) -> dict[str, Vector]:
    """The vectors of points that hold notes, by the text they stand for."""
    found: dict[str, Vector] = {}
    for point in points:
        # A raw note may have no more than its first passages embedded.
        note = note_from(point)
        found.update(zip(passages(note), point.dense, strict=False))
        found.update(zip(note.questions, point.questions, strict=False))
    return found
