"""Asks what a new note is about: keywords, tags, context (paper Ps1)."""

from typing import Any

from amem_integrations.judgement import Message, Subject
from amem_integrations.models.prompts import rendering, schemas

RULES = """\
In "keywords" list the 3 to 5 most specific terms of the new note's own text, the most salient \
first, without speakers' names and times.
In "tags" list 2 to 4 broad categories under which one would look for it.
In "context" say in one sentence what it is about and what is intended by it or may come of it."""

PROPERTIES: dict[str, Any] = {
    "keywords": schemas.texts(5),
    "tags": schemas.texts(4),
    "context": schemas.TEXT,
}

SCHEMA = schemas.answer("understanding", PROPERTIES)


def messages(subject: Subject, *, instructions: str | None = None) -> list[Message]:
    return rendering.conversation([RULES], subject, instructions=instructions)
