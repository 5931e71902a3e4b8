"""What is enclosed in a LlamaIndex message besides its text: pictures, sound, films, documents.

Thinking, citations, tool calls and cache marks are not. `utterances` asks for it.
"""

from collections.abc import Mapping
from functools import partial
from io import IOBase
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.utils import resolve_binary

from amem_integrations.memory.attachments import Attachment, Enclosed, Kind, inlined

# By block type: the kind, and the fields that have its bytes and say of what type they are.
_FIELDS: Mapping[str, tuple[Kind, str, str]] = {
    "image": ("image", "image", "image_mimetype"),
    "audio": ("audio", "audio", "format"),
    "video": ("video", "video", "video_mimetype"),
    "document": ("file", "data", "document_mimetype"),
}
_UNNAMED = "input_document"


def enclosed_in(message: ChatMessage) -> tuple[Enclosed, ...]:
    """What a message holds besides text, in its order."""
    found: list[Enclosed] = []
    for block in message.blocks:
        if block.block_type == "citable":
            found.append(Enclosed("file", partial(_citable, block)))
        elif block.block_type in _FIELDS:
            found.append(Enclosed(_FIELDS[block.block_type][0], partial(_opened, block)))
    return tuple(found)


def _opened(block: Any, most: int) -> Attachment:
    kind, raw, typed = _FIELDS[block.block_type]
    mime_type = getattr(block, typed)
    if kind == "audio" and mime_type and "/" not in mime_type:
        mime_type = f"audio/{mime_type}"
    data, url = _bytes(getattr(block, raw), most), str(block.url) if block.url else None
    if url is not None and url.startswith("data:"):
        said, data = inlined(url, most)
        mime_type, url = mime_type or said, None
    path = Path(block.path) if block.path else None
    if path is not None and data is None:
        with path.open("rb") as file:
            data = file.read(most + 1)
    title = getattr(block, "title", None)
    name = title if title and title != _UNNAMED else path and path.name
    return Attachment(kind, mime_type or None, data, url, name)


def _bytes(given: bytes | IOBase | None, most: int) -> bytes | None:
    if isinstance(given, IOBase):
        given.seek(0)
        data: bytes = given.read(most + 1)
        given.seek(0)
        return data
    # Blocks keep their bytes as base64.
    return bytes(resolve_binary(raw_bytes=given).read()) if given else None


def _citable(block: Any, most: int) -> Attachment:
    text = "\n".join(each.text for each in block.content if isinstance(each, TextBlock))
    url = block.source if "://" in block.source else None
    return Attachment("file", "text/plain", text.encode() or None, url, block.title)
