"""Asks how the candidates should be understood in the light of a new note (paper Ps3)."""

from collections.abc import Collection, Sequence
from typing import Any

from amem_integrations.analysts.prompts import rendering, schemas
from amem_integrations.core.analysis import LinkProposal, Message, Subject

RULES = """\
"evolutions": the older notes, if any, that mean more or something else in its light. "note" is \
the older note's n, "reason" a short sentence; "keywords", "tags" and "context" are its complete \
new ones, empty where the old ones hold."""


def properties(offered: Collection[str]) -> dict[str, Any]:
    evolution = {
        "note": schemas.one_of(list(offered)),
        "reason": schemas.TEXT,
        "keywords": schemas.texts(5),
        "tags": schemas.texts(4),
        "context": schemas.TEXT,
    }
    return {"evolutions": schemas.objects(len(offered), evolution)}


def schema(offered: Collection[str]) -> dict[str, object]:
    """The answer's schema when the candidates bear the handles `offered`."""
    return schemas.answer("evolutions", properties(offered))


def messages(
    subject: Subject, links: Sequence[LinkProposal], *, instructions: str | None = None
) -> list[Message]:
    return rendering.conversation(
        [RULES],
        subject,
        instructions=instructions,
        understood=True,
        candidates=True,
        remarks={link.to: link.reason or link.kind for link in links},
    )
