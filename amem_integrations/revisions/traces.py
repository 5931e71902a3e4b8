"""Words that a note passed on: how text of one note is recognised in what was written of others.

Pure. A judgement names the notes it read, but what it read on them may have come from others;
`retract` follows such words from note to note.
"""

import re
from collections.abc import Iterable

from amem_integrations.core.note import Note

_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af]")
_SHORTEST = 4


def passed_on(before: Note, after: Note, of: Note | None) -> frozenset[str]:
    """The words that `after` lost with what was taken back of the note `of`."""
    lost = words(understood(before)) - words((after.content, *understood(after)))
    return lost if of is None else lost & words((of.content, *understood(of)))


def carried(note: Note, lost: frozenset[str]) -> bool:
    """Whether something written about the note has one of these words, which it never said."""
    return bool(lost & words(understood(note)) - words((note.content,)))


def understood(note: Note) -> tuple[str, ...]:
    reasons = (link.reason for link in note.outgoing)
    return (note.context, *note.keywords, *note.tags, *reasons)


def words(texts: Iterable[str]) -> frozenset[str]:
    """What tells texts apart: longer words, numbers, and pairs of unspaced characters."""
    found: set[str] = set()
    for run in _WORD.findall(" ".join(texts).casefold()):
        if _UNSPACED.search(run):
            found.update(run[at : at + 2] for at in range(len(run) - 1))
        elif len(run) >= _SHORTEST or any(c.isdigit() for c in run):
            found.add(run)
    return frozenset(found)
