"""What of a conversation's messages is remembered, and what is asked of the memory.

Pure: the middleware and the graph both read messages by this, so that the same message is the
same note whichever of them hands it over.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from amem_integrations.core.note import check_content
from amem_integrations.errors import InvalidInputError
from amem_integrations.langchain.content import content_of, has_content
from amem_integrations.memory.attachments import Said, naming


def question(messages: Sequence[AnyMessage]) -> HumanMessage | None:
    """The last thing that the user said."""
    return next((each for each in reversed(messages) if _is_user(each)), None)


def last_turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What the user said last, and the answer to it if there is one.

    Tool traffic and what is said on the way to the answer are no part of it.
    """
    last = max((at for at, each in enumerate(messages) if _is_user(each)), default=None)
    if last is None:
        return []
    first = last
    while first and _is_user(messages[first - 1]):
        first -= 1
    answers = [each for each in messages[last + 1 :] if _is_answer(each)]
    return [*messages[first : last + 1], *answers[-1:]]


def _is_user(message: AnyMessage) -> TypeGuard[HumanMessage]:
    # A summary of the conversation stands in it as if the user had said it.
    return (
        isinstance(message, HumanMessage)
        and message.additional_kwargs.get("lc_source") != "summarization"
    )


def _is_answer(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls and has_content(message)


def key_of(message: AnyMessage, thread: str | None) -> str | None:
    """The key of a message's note: ids are unique within their thread only."""
    if message.id is None:
        return None
    return f"message:{json.dumps([thread, message.id], ensure_ascii=False)}"


def keys(messages: Sequence[AnyMessage], thread: str | None) -> list[str]:
    """The keys of the notes that these messages may be."""
    spoken = (each for each in messages if _is_user(each) or _is_answer(each))
    return [key for each in spoken if (key := key_of(each, thread))]


def said(messages: Sequence[AnyMessage], thread: str | None) -> tuple[list[Said], int]:
    """The messages as `attachments.captioned` takes them, and how many cannot be kept."""
    kept: list[Said] = []
    unusable = 0
    for message in messages:
        text, enclosed = content_of(message)
        if text.strip():
            try:
                check_content(text)
            except InvalidInputError:
                unusable += 1
                continue
        elif not enclosed:
            continue
        item: dict[str, Any] = {
            "content": text,
            "key": key_of(message, thread),
            "speaker": (message.name or "user") if _is_user(message) else "assistant",
            "session": thread,
        }
        kept.append(({**item, **naming(enclosed)}, enclosed))
    return kept, unusable
