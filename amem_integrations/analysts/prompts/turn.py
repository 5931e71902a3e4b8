"""Asks which ideas a turn of a conversation holds, and what of them was known before.

The sentences are numbered, and so are the older notes; the answer names numbers only.
"""

from collections.abc import Collection
from typing import Any

from amem_integrations.analysts.prompts import rendering, schemas
from amem_integrations.core.analysis import TURN_KINDS, Message, Turn

RULES = """\
The turn's sentences bear numbers in "s". In "ideas" list, in order, the ideas of the turn, mostly \
one: "first" is the s of the sentence with which an idea begins; it lasts until the next idea. A \
greeting belongs to the idea beside it.
"kind" is "repetition" when one older note already says all of it, "correction" when it says that \
an older note is wrong or holds no longer, "nothing" when nobody would look for it later, else \
"new". In doubt it is "new". "of" is the n of the older note repeated or corrected, else empty."""


def schema(sentences: int, offered: Collection[str]) -> dict[str, object]:
    """The answer's schema for a turn of so many sentences, with older notes of these handles."""
    idea: dict[str, Any] = {
        "first": schemas.one_of([str(place) for place in range(1, sentences + 1)]),
        "kind": schemas.one_of(TURN_KINDS),
        "of": schemas.one_of(["", *offered]),
    }
    return schemas.answer("ideas", {"ideas": schemas.objects(sentences, idea)})


def messages(turn: Turn, *, instructions: str | None = None) -> list[Message]:
    return rendering.turn_conversation([RULES], turn, instructions=instructions)
