"""Asks for understanding, links and evolutions of several new notes in one call.

All notes, the older ones first, bear numbers in one row, so that what a new note may refer to
is what has a smaller number.
"""

from collections.abc import Mapping, Sequence

from amem_integrations.analysts.prompts import construct, evolve, link, rendering, schemas
from amem_integrations.core.analysis import Message
from amem_integrations.core.note import Note

RULES = """\
"notes": one object for each new note, in the language of its own text: "n", the note's own, and \
what follows. Older than a new note are all notes with a smaller n, new ones too."""


def numbered(older: Sequence[Note], new: Sequence[Note]) -> dict[str, str]:
    """The handles of all notes, in the order in which they are shown, mapped to their ids."""
    return {str(place): note.id for place, note in enumerate([*older, *new], start=1)}


def schema(handles: Mapping[str, str], new: int) -> dict[str, object]:
    """The answer's schema when the last `new` of the handles are those of the new notes."""
    every = list(handles)
    filed = {
        "n": schemas.one_of(every[-new:]),
        **construct.PROPERTIES,
        **link.properties(every[:-1]),
        **evolve.properties(every[:-1]),
    }
    return schemas.answer("judgements", {"notes": schemas.objects(new, filed)})


def messages(
    older: Sequence[Note], new: Sequence[Note], *, instructions: str | None = None
) -> list[Message]:
    rules = [RULES, construct.RULES, link.RULES, evolve.RULES]
    return rendering.shared_conversation(rules, older, new, instructions=instructions)
