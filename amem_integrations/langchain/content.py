"""What a LangChain message holds: its text, and what is enclosed in it.

Content comes as text, or as blocks in the forms of many providers, which LangChain reads for us.
Reasoning, tool calls and cache marks are neither text nor enclosed. Adapters for messages use it.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from langchain_core.messages import AnyMessage

from amem_integrations.memory.attachments import (
    KINDS,
    Attachment,
    Enclosed,
    Kind,
    decoded,
    inlined,
    kind_of,
)

_LOG = logging.getLogger(__name__)

# How providers call what LangChain does not know, such as "video_url" or "input_image".
_WORDS: Mapping[str, Kind] = {**{kind: kind for kind in KINDS}, "document": "file"}


def content_of(message: AnyMessage) -> tuple[str, list[Enclosed]]:
    """The text of a message, its parts as they follow each other, and what is enclosed.

    Parts between which something is enclosed stand on lines of their own.
    """
    if isinstance(message.content, str):
        return message.content, []
    text, enclosed, apart = "", list[Enclosed](), False
    for block in _blocks(message):
        if block["type"] == "text":
            said = str(block.get("text") or "")
            text += f"\n{said}" if apart and text and said else said
            apart = apart and not said
        elif found := _enclosed(block):
            enclosed.append(found)
            apart = True
    return text, enclosed


def has_content(message: AnyMessage) -> bool:
    """Whether a message has text, or anything enclosed."""
    return bool(message.text.strip()) or bool(content_of(message)[1])


def _blocks(message: AnyMessage) -> list[dict[str, Any]]:
    try:
        return cast("list[dict[str, Any]]", message.content_blocks)
    except Exception as error:
        # Of a block that is not as its provider has it. Nothing of the others is lost for that.
        _LOG.debug("Content that LangChain cannot read (%s).", type(error).__name__)
        return [_as_it_is(block) for block in message.content]


def _as_it_is(block: str | dict[Any, Any]) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    return block if block.get("type") == "text" else {"type": "non_standard", "value": block}


def _enclosed(block: Mapping[str, Any]) -> Enclosed | None:
    kind: Kind | None
    match block:
        case {"type": "image" | "audio" | "video" | "file" as kind}:
            pass
        case {"type": "text-plain"}:
            kind = "file"
        case {"type": "non_standard", "value": {**value}}:
            block, kind = value, _kind_of(value)
        case _:
            kind = None
    return None if kind is None else Enclosed(kind, partial(_open, kind, block))


def _kind_of(value: Mapping[str, Any]) -> Kind | None:
    if isinstance(value.get("mime_type"), str):
        return kind_of(value["mime_type"])
    name = str(value.get("type", ""))
    return next((kind for word, kind in _WORDS.items() if word in name), None)


def _open(kind: Kind, block: Mapping[str, Any], most: int) -> Attachment:
    # Some providers say it in an object under the name of the block's type, or call it extras.
    parts = [
        block,
        *(part for key in (str(block.get("type")), "extras") if (part := block.get(key))),
    ]
    found: dict[str, Any] = {}
    for part in parts:
        found |= cast("dict[str, Any]", part) if isinstance(part, Mapping) else {"url": part}
    url = _text(found.get("url")) or _text(found.get(f"{kind}_url"))
    mime_type, data = _text(found.get("mime_type")), _data(found, most)
    if url is not None and url.startswith("data:"):
        said, data = inlined(url, most)
        mime_type, url = mime_type or said, None
    names = (_text(found.get(key)) for key in ("filename", "name", "title"))
    return Attachment(kind, mime_type, data, url, next(filter(None, names), None))


def _data(found: Mapping[str, Any], most: int) -> bytes | None:
    for encoded in map(found.get, ("base64", "data", "file_data")):
        if isinstance(encoded, bytes):
            return encoded
        if isinstance(encoded, str):
            return decoded(encoded.rpartition(",")[2], most)
    return text.encode() if (text := _text(found.get("text"))) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
