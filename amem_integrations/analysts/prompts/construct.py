"""Asks what a new note is about: keywords, tags, context (paper Ps1)."""

from typing import Any

from amem_integrations.analysts.prompts import rendering, schemas
from amem_integrations.core.analysis import Message, Subject

RULES = """\
"keywords": the 3 to 5 most specific terms of the new note's text, most salient first, no speakers \
or times.
"tags": 2 to 4 broad categories to look for it under.
"context": one sentence on what it is about and what is intended or may come of it."""

PROPERTIES: dict[str, Any] = {
    "keywords": schemas.texts(5),
    "tags": schemas.texts(4),
    "context": schemas.TEXT,
}

SCHEMA = schemas.answer("understanding", PROPERTIES)


def messages(subject: Subject, *, instructions: str | None = None) -> list[Message]:
    return rendering.conversation([RULES], subject, instructions=instructions)
