"""Chat messages of LlamaIndex: what was said in them, what they enclose, and where notes go.

Pure: no memory, no store. A note's key is derived from its session, so that an utterance is the
same note however often it is handed over.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from io import IOBase
from pathlib import Path
from typing import Any, Literal, TypeAlias

from llama_index.core.base.llms.types import (
    ChatMessage,
    ContentBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.schema import QueryBundle
from llama_index.core.utils import resolve_binary

from amem_integrations.memory.attachments import (
    Attachment,
    Enclosed,
    Kind,
    Utterance,
    attachment_counts,
    decode_data_url,
)

Question: TypeAlias = str | ChatMessage | QueryBundle

Placement = Literal["auto", "system", "user"]
PLACEMENTS = ("auto", "system", "user")

# Some providers' integrations have other names for the assistant.
_SPEAKERS = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
SPEAKERS = ("user", "assistant")
INSTRUCTIONS = (MessageRole.SYSTEM.value, MessageRole.DEVELOPER.value)
"""The roles of messages that do not leave a chat when it is full."""

_TRACE = re.compile(r"\s*(?:Thought|Action|Observation)\s*:")
_THOUGHT, _OBSERVATION, _ANSWER = (
    re.compile(rf"^[^\S\n]*{step}[^\S\n]*:", re.MULTILINE)
    for step in ("Thought", "Observation", "Answer")
)

# CodeActAgent writes code between tags, and what it printed into a message of the user.
_CODE, _CODE_END = "<execute>", "</execute>"
_OUTPUT = "Result of executing the code given:\n"

# By block type: the kind, and the fields with its bytes and their type.
_FIELDS: Mapping[str, tuple[Kind, str, str]] = {
    "image": ("image", "image", "image_mimetype"),
    "audio": ("audio", "audio", "format"),
    "video": ("video", "video", "video_mimetype"),
    "document": ("file", "data", "document_mimetype"),
}
_UNNAMED = "input_document"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said, and what was enclosed, which does not count in comparisons."""

    speaker: str
    text: str
    enclosed: tuple[Enclosed, ...] = field(default=(), compare=False, repr=False)


def spoken_in(messages: Iterable[ChatMessage], speakers: Sequence[str]) -> list[Spoken]:
    """Return what the given speakers said.

    Tool traffic, system messages and empty messages are left out, and so are the code of an agent
    and its output. Of a ReAct agent's trace, only the answer counts.
    """
    found = (_spoken(message) for message in messages)
    return [spoken for spoken in found if spoken is not None and spoken.speaker in speakers]


def _spoken(message: ChatMessage) -> Spoken | None:
    speaker = _SPEAKERS.get(message.role)
    if speaker is None or (speaker == "user" and not begins_turn(message)):
        return None
    text = message.content or ""
    if speaker == "assistant":
        text, _, code = text.partition(_CODE)
        if _calls_tools(message) or _CODE_END in code:
            return None
        if _TRACE.match(text):
            text = _answer(text)
    # Streaming may leave halves of a character; halves that follow each other are joined.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    enclosed = enclosed_in(message)
    return Spoken(speaker, text, enclosed) if text.strip() or enclosed else None


def _answer(trace: str) -> str:
    """Return the answer of a trace; a tool's words, which may look like one, are skipped."""
    steps = [0, *(found.start() for found in _OBSERVATION.finditer(trace))]
    for start in (steps[-1], 0):
        thought = _THOUGHT.search(trace, start)
        answer = thought and _ANSWER.search(trace, thought.end())
        if answer:
            return trace[answer.end() :].lstrip()
    return ""


def begins_turn(message: ChatMessage) -> bool:
    """Whether a message is the user's, and not what a program printed in the role of the user."""
    return message.role == MessageRole.USER and not _is_output(message)


def _is_output(message: ChatMessage) -> bool:
    return (message.content or "").startswith(_OUTPUT)


def _calls_tools(message: ChatMessage) -> bool:
    return bool(message.additional_kwargs.get("tool_calls")) or any(
        isinstance(block, ToolCallBlock) for block in message.blocks
    )


def question_in(input: object) -> str:
    """Return the text of a question as engines and callers give it; "" if it is none."""
    match input:
        case str():
            text = input
        case ChatMessage():
            text = input.content or ""
        case QueryBundle():
            text = input.query_str
        case _:
            text = ""
    return text if text.strip() else ""


def last_question(messages: Sequence[ChatMessage]) -> str:
    """Return the text of the last user message; "" for none."""
    asked = (message.content for message in reversed(messages) if begins_turn(message))
    return next((text for text in asked if text and text.strip()), "")


class Session:
    """Tells an utterance of a session from its repetitions.

    "ok" said twice is two notes; the same history handed over twice is one note an utterance. So
    the key is made of the text and how often it was said before.
    """

    def __init__(self, id: str | None, *, key_prefix: str = "chat") -> None:
        self.id = id
        self._key_prefix = key_prefix
        self._times: Counter[Spoken] = Counter()
        self._lock = threading.Lock()

    def add(self, new: Iterable[Spoken]) -> list[Utterance]:
        """Add what was said now, after everything before; returns it with its keys."""
        with self._lock:
            return [self._add(spoken) for spoken in new]

    def add_unknown(self, history: Iterable[Spoken]) -> list[Utterance]:
        """Add what of a whole history is not known yet; returns it with its keys."""
        new: list[Utterance] = []
        seen: Counter[Spoken] = Counter()
        with self._lock:
            for spoken in history:
                seen[spoken] += 1
                if seen[spoken] > self._times[spoken]:
                    new.append(self._add(spoken))
        return new

    def keys(self, latest: Iterable[Spoken]) -> list[str]:
        """Return the keys of the latest utterances of the session."""
        return [
            self._key(spoken, self._times[spoken] - back)
            for spoken, times in Counter(latest).items()
            for back in range(1, times + 1)
        ]

    def _add(self, spoken: Spoken) -> Utterance:
        item: dict[str, Any] = {
            "content": spoken.text,
            "speaker": spoken.speaker,
            # The roles of a chat that are remembered are kinds of sources, too.
            "source": spoken.speaker,
            "key": self._key(spoken, self._times[spoken]),
            "session": self.id,
            **attachment_counts(spoken.enclosed),
        }
        self._times[spoken] += 1
        return item, spoken.enclosed

    def _key(self, spoken: Spoken, times: int) -> str:
        parts = json.dumps([self.id, spoken.speaker, spoken.text, times])
        digest = blake2b(parts.encode(), digest_size=16).hexdigest()
        return f"{self._key_prefix}:{digest}"


# -- attachments -----------------------------------------------------------------------------


def enclosed_in(message: ChatMessage) -> tuple[Enclosed, ...]:
    """Return what a message holds besides text; thinking, citations and tool calls do not count."""
    found: list[Enclosed] = []
    for block in message.blocks:
        if block.block_type == "citable":
            found.append(Enclosed("file", partial(_open_citable, block)))
        elif block.block_type in _FIELDS:
            found.append(Enclosed(_FIELDS[block.block_type][0], partial(_open, block)))
    return tuple(found)


def _open(block: Any, max_bytes: int) -> Attachment:
    kind, data_field, type_field = _FIELDS[block.block_type]
    mime_type = getattr(block, type_field)
    if kind == "audio" and mime_type and "/" not in mime_type:
        mime_type = f"audio/{mime_type}"
    data = _bytes(getattr(block, data_field), max_bytes)
    url = str(block.url) if block.url else None
    if url is not None and url.startswith("data:"):
        inlined_type, data = decode_data_url(url, max_bytes)
        mime_type, url = mime_type or inlined_type, None
    path = Path(block.path) if block.path else None
    if path is not None and data is None:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    title = getattr(block, "title", None)
    name = title if title and title != _UNNAMED else path and path.name
    return Attachment(kind, mime_type or None, data, url, name)


def _bytes(given: bytes | IOBase | None, max_bytes: int) -> bytes | None:
    if isinstance(given, IOBase):
        given.seek(0)
        data: bytes = given.read(max_bytes + 1)
        given.seek(0)
        return data
    # Blocks keep their bytes as base64.
    return bytes(resolve_binary(raw_bytes=given).read()) if given else None


def _open_citable(block: Any, max_bytes: int) -> Attachment:
    text = "\n".join(part.text for part in block.content if isinstance(part, TextBlock))
    url = block.source if "://" in block.source else None
    return Attachment("file", "text/plain", text.encode() or None, url, block.title)


# -- where notes go --------------------------------------------------------------------------


def insert_notes(
    messages: list[ChatMessage],
    recalled: Sequence[ContentBlock],
    placement: Placement,
    *,
    asked: bool,
) -> list[ChatMessage]:
    """Return the messages with the recalled notes in them.

    "system": at the end of the system message, or in one of its own if there is none. "user":
    before the question that they answer. If the question is not among the messages yet (`asked`,
    and the last message is no user's), the notes stand right before it, never with an older
    question. "auto": the same; engines and agents add a system message of their own, some models
    refuse a second one, and ReActAgent and CodeActAgent drop the chat's.
    """
    if not recalled:
        return messages
    if placement == "system":
        system = _last(messages[::-1], MessageRole.SYSTEM)
        if system is None:
            return [ChatMessage(role=MessageRole.SYSTEM, blocks=list(recalled)), *messages]
        system.blocks = [*system.blocks, *recalled]
        return messages
    question = _last(messages, MessageRole.USER)
    if question is None or (asked and question is not messages[-1]):
        return [*messages, ChatMessage(role=MessageRole.USER, blocks=list(recalled))]
    question.blocks = [*recalled, *question.blocks]
    return messages


def _last(messages: Sequence[ChatMessage], role: MessageRole) -> ChatMessage | None:
    return next((message for message in reversed(messages) if message.role == role), None)
