"""Asks which candidates a new note belongs with, and why (paper Ps2)."""

from collections.abc import Collection
from typing import Any

from amem_integrations.analysts.prompts import rendering, schemas
from amem_integrations.core.analysis import Message, Subject
from amem_integrations.core.note import CONTRADICTS

KINDS = ("same-matter", "same-concept", "cause", "sequence", CONTRADICTS)

RULES = """\
"links": the older notes, if any, that it truly belongs with: on the same project or matter \
(same-matter), same concept or solution (same-concept), what brought it about (cause), what it \
continues (sequence) or what, by it, no longer holds (contradicts); a shared word or speaker is \
not enough. "to" is the older note's n, "reason" a short sentence, "strength" 0 to 1."""


def properties(offered: Collection[str]) -> dict[str, Any]:
    link = {
        "to": schemas.one_of(list(offered)),
        "reason": schemas.TEXT,
        "kind": schemas.one_of(KINDS),
        "strength": schemas.NUMBER,
    }
    return {"links": schemas.objects(len(offered), link)}


def schema(offered: Collection[str]) -> dict[str, object]:
    """The answer's schema when the candidates bear the handles `offered`."""
    return schemas.answer("links", properties(offered))


def messages(subject: Subject, *, instructions: str | None = None) -> list[Message]:
    return rendering.conversation(
        [RULES], subject, instructions=instructions, understood=True, candidates=True
    )
