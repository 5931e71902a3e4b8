"""Where recalled notes go in the messages for a model."""

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, MessageRole
from llama_index.core.memory import InsertMethod


def inserted(
    messages: list[ChatMessage],
    recalled: Sequence[ContentBlock],
    method: InsertMethod,
    *,
    asked: bool,
) -> list[ChatMessage]:
    """The messages with what was recalled; nothing recalled changes nothing.

    SYSTEM: at the end of the system message, or in one of its own if there is none. USER: before
    the question that it answers. Where that is not among the messages yet (`asked`, and the
    last one is no user's), the notes stand right before it, never with an older question.
    """
    if not recalled:
        return messages
    if method is InsertMethod.SYSTEM:
        place = _first(messages, MessageRole.SYSTEM)
        if place is None:
            return [ChatMessage(role=MessageRole.SYSTEM, blocks=list(recalled)), *messages]
        message = messages[place]
        message.blocks = [*message.blocks, *recalled]
        return messages
    place = _last(messages, MessageRole.USER)
    if place is None or (asked and place != len(messages) - 1):
        return [*messages, ChatMessage(role=MessageRole.USER, blocks=list(recalled))]
    message = messages[place]
    message.blocks = [*recalled, *message.blocks]
    return messages


def _first(messages: Sequence[ChatMessage], role: MessageRole) -> int | None:
    return next((n for n, message in enumerate(messages) if message.role == role), None)


def _last(messages: Sequence[ChatMessage], role: MessageRole) -> int | None:
    places = (n for n in reversed(range(len(messages))) if messages[n].role == role)
    return next(places, None)
