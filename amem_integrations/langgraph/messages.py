"""What of a conversation is remembered: its last turn, as text, attachments and note keys.

The middleware and the graph share this, so the same message gives the same note in both. LangChain
reads the content blocks of the providers; reasoning, tool calls and cache marks are ignored.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from amem_integrations.core.io import IO
from amem_integrations.core.note import check_content
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.attachments import (
    KINDS,
    Attachment,
    Captioning,
    Enclosed,
    Item,
    Kind,
    Utterance,
    attachment_counts,
    caption,
    decode_base64,
    decode_data_url,
    kind_of,
)

_LOG = logging.getLogger(__name__)

# Words in the type names of providers' own blocks, such as "video_url" or "input_image".
_WORDS: Mapping[str, Kind] = {**{kind: kind for kind in KINDS}, "document": "file"}


def last_question(messages: Sequence[AnyMessage]) -> HumanMessage | None:
    """Return the last message of the user."""
    return next((message for message in reversed(messages) if _is_user(message)), None)


def last_turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return what the user said last, and the answer to it if there is one.

    Tool traffic and what is said on the way to the answer are left out.
    """
    last = max((at for at, message in enumerate(messages) if _is_user(message)), default=None)
    if last is None:
        return []
    first = last
    while first and _is_user(messages[first - 1]):
        first -= 1
    answers = [message for message in messages[last + 1 :] if _is_answer(message)]
    return [*messages[first : last + 1], *answers[-1:]]


def note_keys(messages: Sequence[AnyMessage], thread: str | None) -> list[str]:
    """Return the keys of the notes that these messages may be."""
    spoken = (message for message in messages if _is_user(message) or _is_answer(message))
    return [key for message in spoken if (key := _key(message, thread))]


async def turn_items(
    io: IO,
    count: Callable[..., None],
    captioning: Captioning | None,
    messages: Sequence[AnyMessage],
    thread: str | None,
) -> list[Item]:
    """Return the last turn as items to remember, captions included; `count` hears of the rest."""
    usable: list[Utterance] = []
    for message in last_turn(messages):
        text, enclosed = read_content(message)
        if text.strip():
            try:
                check_content(text)
            except InvalidInputError:
                count("langgraph.remember.unusable")
                continue
        elif not enclosed:
            continue
        item: Item = {
            "content": text,
            "key": _key(message, thread),
            "speaker": (message.name or "user") if _is_user(message) else "assistant",
            "source": "user" if _is_user(message) else "assistant",
            "session": thread,
        }
        usable.append(({**item, **attachment_counts(enclosed)}, enclosed))
    return await caption(io, count, captioning, usable)


def read_content(message: AnyMessage) -> tuple[str, list[Enclosed]]:
    """Return the text of a message, its parts joined, and what is enclosed.

    Parts on both sides of something enclosed stand on lines of their own.
    """
    if isinstance(message.content, str):
        return message.content, []
    text, enclosed, apart = "", list[Enclosed](), False
    for block in _blocks(message):
        if block["type"] == "text":
            part = str(block.get("text") or "")
            text += f"\n{part}" if apart and text and part else part
            apart = apart and not part
        elif found := _enclosed(block):
            enclosed.append(found)
            apart = True
    return text, enclosed


def _is_user(message: AnyMessage) -> TypeGuard[HumanMessage]:
    # A summary of the conversation looks as if the user had said it.
    return (
        isinstance(message, HumanMessage)
        and message.additional_kwargs.get("lc_source") != "summarization"
    )


def _is_answer(message: AnyMessage) -> bool:
    if not isinstance(message, AIMessage) or message.tool_calls:
        return False
    return bool(message.text.strip()) or bool(read_content(message)[1])


def _key(message: AnyMessage, thread: str | None) -> str | None:
    # Message ids are unique within their thread only.
    if message.id is None:
        return None
    return f"message:{json.dumps([thread, message.id], ensure_ascii=False)}"


def _blocks(message: AnyMessage) -> list[dict[str, Any]]:
    try:
        return cast("list[dict[str, Any]]", message.content_blocks)
    except Exception as error:
        # One malformed block must not lose the others.
        _LOG.debug("Content that LangChain cannot read (%s).", type(error).__name__)
        return [_raw_block(block) for block in message.content]


def _raw_block(block: str | dict[Any, Any]) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    return block if block.get("type") == "text" else {"type": "non_standard", "value": block}


def _enclosed(block: Mapping[str, Any]) -> Enclosed | None:
    kind: Kind | None = None
    match block:
        case {"type": "image" | "audio" | "video" | "file" as kind}:
            pass
        case {"type": "text-plain"}:
            kind = "file"
        case {"type": "non_standard", "value": {**value}}:
            block, name = value, str(value.get("type", ""))
            if isinstance(value.get("mime_type"), str):
                kind = kind_of(value["mime_type"])
            else:
                kind = next((kind for word, kind in _WORDS.items() if word in name), None)
        case _:
            pass
    return None if kind is None else Enclosed(kind, partial(_open, kind, block))


def _open(kind: Kind, block: Mapping[str, Any], max_bytes: int) -> Attachment:
    # Some providers nest the fields under the name of the block's type, or in "extras".
    nested = (block.get(str(block.get("type"))), block.get("extras"))
    fields: dict[str, Any] = dict(block)
    for part in filter(None, nested):
        fields |= cast("dict[str, Any]", part) if isinstance(part, Mapping) else {"url": part}
    url = _text(fields.get("url")) or _text(fields.get(f"{kind}_url"))
    mime_type, data = _text(fields.get("mime_type")), _data(fields, max_bytes)
    if url is not None and url.startswith("data:"):
        inlined_type, data = decode_data_url(url, max_bytes)
        mime_type, url = mime_type or inlined_type, None
    names = (_text(fields.get(key)) for key in ("filename", "name", "title"))
    return Attachment(kind, mime_type, data, url, next(filter(None, names), None))


def _data(fields: Mapping[str, Any], max_bytes: int) -> bytes | None:
    for encoded in map(fields.get, ("base64", "data", "file_data")):
        if isinstance(encoded, bytes):
            return encoded
        if isinstance(encoded, str):
            return decode_base64(encoded.rpartition(",")[2], max_bytes)
    return text.encode() if (text := _text(fields.get("text"))) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
