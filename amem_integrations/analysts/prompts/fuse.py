"""Asks for understanding, links and evolutions of a new note in one call."""

from collections.abc import Collection

from amem_integrations.analysts.prompts import construct, evolve, link, rendering, schemas
from amem_integrations.core.analysis import Message, Subject


def schema(offered: Collection[str]) -> dict[str, object]:
    """The answer's schema when the candidates bear the handles `offered`."""
    return schemas.answer(
        "judgement",
        {**construct.PROPERTIES, **link.properties(offered), **evolve.properties(offered)},
    )


def messages(subject: Subject, *, instructions: str | None = None) -> list[Message]:
    return rendering.conversation(
        [construct.RULES, link.RULES, evolve.RULES],
        subject,
        instructions=instructions,
        candidates=True,
    )
