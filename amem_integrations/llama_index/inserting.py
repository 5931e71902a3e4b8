"""Where recalled notes go in the messages for a model."""

from collections.abc import Sequence
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, MessageRole

Placing = Literal["auto", "system", "user"]
PLACINGS = ("auto", "system", "user")


def inserted(
    messages: list[ChatMessage],
    recalled: Sequence[ContentBlock],
    placing: Placing,
    *,
    asked: bool,
) -> list[ChatMessage]:
    """The messages with what was recalled; nothing recalled changes nothing.

    "system": at the end of the system message, or in one of its own if there is none. "user":
    before the question that it answers. Where that is not among the messages yet (`asked`, and
    the last one is no user's), the notes stand right before it, never with an older question.
    "auto": the first of these if there is a system message, else the second. Engines and agents
    add a system message of their own, a second one is refused by some models, and ReActAgent
    drops whichever is first.
    """
    if not recalled:
        return messages
    system = _first(messages, MessageRole.SYSTEM)
    if placing == "system" and system is None:
        return [ChatMessage(role=MessageRole.SYSTEM, blocks=list(recalled)), *messages]
    if placing != "user" and system is not None:
        message = messages[system]
        message.blocks = [*message.blocks, *recalled]
        return messages
    question = _last(messages, MessageRole.USER)
    if question is None or (asked and question != len(messages) - 1):
        return [*messages, ChatMessage(role=MessageRole.USER, blocks=list(recalled))]
    message = messages[question]
    message.blocks = [*recalled, *message.blocks]
    return messages


def _first(messages: Sequence[ChatMessage], role: MessageRole) -> int | None:
    return next((n for n, message in enumerate(messages) if message.role == role), None)


def _last(messages: Sequence[ChatMessage], role: MessageRole) -> int | None:
    places = (n for n in reversed(range(len(messages))) if messages[n].role == role)
    return next(places, None)
