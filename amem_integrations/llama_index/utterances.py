"""Which chat messages are something that was said, what was asked last, and how each is known.

Pure: no memory, no store. A note's key is derived here, so that the same utterance of the same
session is the same note however often and by whomever it is handed over.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock

from amem_integrations.llama_index.content import enclosed_in
from amem_integrations.memory.attachments import Enclosed, Said, naming

# Some providers' integrations call the assistant by other names.
_SPEAKERS = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
SPEAKERS = ("user", "assistant")

_TRACE = re.compile(r"\s*(?:Thought|Action|Observation)\s*:")
_OBSERVATION = re.compile(r"^\s*Observation\s*:", re.MULTILINE)
_ANSWER = re.compile(r"^\s*Thought\s*:.*?^\s*Answer\s*:\s*(.*)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Utterance:
    """What was said, and what was enclosed, in which utterances do not differ."""

    speaker: str
    text: str
    enclosed: tuple[Enclosed, ...] = field(default=(), compare=False, repr=False)

    def said(self, **about: Any) -> Said:
        """As `AMemNotes.ingest` takes it. about: what is known of it besides."""
        item = {"content": self.text, "speaker": self.speaker, **naming(self.enclosed), **about}
        return item, self.enclosed


@dataclass(frozen=True, slots=True)
class Numbered:
    """An utterance with the key of its note and its place in the session."""

    utterance: Utterance
    key: str
    sequence: int


def utterances(messages: Iterable[ChatMessage], speakers: Sequence[str]) -> list[Utterance]:
    """What the given speakers said.

    Tool traffic, system messages and messages that hold nothing are nothing that was said. Of the
    trace that a ReAct agent keeps, only the answer was.
    """
    said = (_utterance(message) for message in messages)
    return [each for each in said if each is not None and each.speaker in speakers]


def _utterance(message: ChatMessage) -> Utterance | None:
    speaker = _SPEAKERS.get(message.role)
    if speaker is None:
        return None
    text = message.content or ""
    if speaker == "assistant":
        if _calls_tools(message):
            return None
        if _TRACE.match(text):
            text = _answer(text)
    # What streaming cut a character in two left behind; halves that follow each other are joined.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    enclosed = enclosed_in(message)
    return Utterance(speaker, text, enclosed) if text.strip() or enclosed else None


def _answer(trace: str) -> str:
    """What a trace ends with; a tool's words, which may look like it, are not taken for it."""
    steps = [0, *(found.start() for found in _OBSERVATION.finditer(trace))]
    answer = _ANSWER.search(trace, steps[-1]) or _ANSWER.search(trace)
    return answer[1] if answer else ""


def _calls_tools(message: ChatMessage) -> bool:
    return bool(message.additional_kwargs.get("tool_calls")) or any(
        isinstance(block, ToolCallBlock) for block in message.blocks
    )


def last_question(messages: Sequence[ChatMessage]) -> str:
    """The text of the last user message; tool results and answers after it do not matter."""
    for message in reversed(messages):
        if message.role == MessageRole.USER and (message.content or "").strip():
            return message.content or ""
    return ""


class Session:
    """Tells an utterance of a session from its repetitions.

    "ok" said twice is two notes; the same history handed over twice is still one note for each
    utterance. So the key is made of the text and how often it was said before.
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self._times: Counter[Utterance] = Counter()
        self._count = 0
        self._lock = threading.Lock()

    def say(self, said: Iterable[Utterance]) -> list[Numbered]:
        """These were said now, after everything before."""
        with self._lock:
            return [self._number(each) for each in said]

    def compare(self, history: Iterable[Utterance]) -> list[Numbered]:
        """Those of a whole history that were not known yet; all of it is known from now on."""
        new: list[Numbered] = []
        seen: Counter[Utterance] = Counter()
        with self._lock:
            for each in history:
                seen[each] += 1
                if seen[each] > self._times[each]:
                    new.append(self._number(each))
        return new

    def keys(self, latest: Iterable[Utterance]) -> list[str]:
        """The keys of the latest utterances of the session."""
        counted = Counter(latest)
        return [
            self._key(each, self._times[each] - back)
            for each, times in counted.items()
            for back in range(1, times + 1)
        ]

    def _number(self, each: Utterance) -> Numbered:
        times, place = self._times[each], self._count
        self._times[each] += 1
        self._count += 1
        return Numbered(each, self._key(each, times), place)

    def _key(self, each: Utterance, times: int) -> str:
        parts = json.dumps([self.id, each.speaker, each.text, times])
        return "chat:" + blake2b(parts.encode(), digest_size=16).hexdigest()
