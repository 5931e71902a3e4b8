"""Asks what several notes come to: one new note that stands above them. Ours, not the paper's."""

from collections.abc import Sequence
from typing import Any

from amem_integrations.analysts.prompts import construct, rendering, schemas
from amem_integrations.core.analysis import Message
from amem_integrations.core.note import Note

RULES = """\
The notes are of one matter. Write the one note that stands for what they come to together.
"text": what they establish, in 1 to 3 sentences that can be understood alone; names, numbers and \
dates exactly as the notes have them, nothing that no note says. Where they disagree, say so, \
and who said what when. "" if they have nothing in common."""

PROPERTIES: dict[str, Any] = {"text": schemas.TEXT, **construct.PROPERTIES}

SCHEMA = schemas.answer("distillation", PROPERTIES)


def messages(notes: Sequence[Note], *, instructions: str | None = None) -> list[Message]:
    """About notes in the order in which they were said."""
    return rendering.cluster_conversation(
        [RULES, construct.RULES], notes, instructions=instructions
    )
