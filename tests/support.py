"""What several test modules share: a scripted judge and quick ways to open a memory."""

import importlib.util
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage

from amem_integrations import (
    AgenticMemory,
    FormationOptions,
    Note,
    RecallOptions,
    ServerOptions,
)
from amem_integrations.recall.prompt import LINE
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.pool import POOL
from tests.private import aio_of as aio_of
from tests.private import io_of as io_of
from tests.private import parts_of as parts_of
from tests.private import wiring_of as wiring_of

Judge = Callable[[str, list[dict[str, Any]]], Mapping[str, Any]]

EMBEDDER = HashEmbedder()
OPTIONS: dict[str, Any] = {
    "formation_options": FormationOptions,
    "recall_options": RecallOptions,
    "server_options": ServerOptions,
}
MARK = re.compile(r"mark\d+x")
"""A word that tells one text from all others."""


def shown_notes(messages: Sequence[BaseMessage]) -> tuple[str, list[dict[str, Any]]]:
    """The new note's text and the candidates, as a prompt shows them."""
    *others, new = shown_lines(messages)
    return new["new"]["text"], [note for note in others if "n" in note]


def shown_lines(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """What a prompt shows between its fences."""
    lines = str(messages[1].content).splitlines()
    start, end = lines.index("<notes>"), lines.index("</notes>")
    return [json.loads(line) for line in lines[start + 1 : end]]


def shown_batch(messages: Sequence[BaseMessage]) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """By handle, each new note's text in a batched question, and the notes it may refer to.

    Empty for any other question. The new notes among those have their text like the others.
    """
    shown = shown_lines(messages)
    if "n" not in shown[-1]:
        return {}
    plain = [{"n": each["n"], **each.get("new", each)} for each in shown]
    return {
        each["n"]: (each["new"]["text"], plain[:place])
        for place, each in enumerate(shown)
        if "new" in each
    }


def cpu_seconds(act: Callable[[], object], runs: int = 3) -> float:
    """The least that a call took of this thread's CPU: what else the machine does is not in it."""
    taken: list[float] = []
    for _ in range(runs):
        started = time.thread_time()
        act()
        taken.append(time.thread_time() - started)
    return min(taken)


def check_linear(act: Callable[[int], object], size: int) -> None:
    """Assert that four times the size takes about four times the CPU, not sixteen times."""
    small, large = (cpu_seconds(partial(act, each)) for each in (size // 4, size))
    assert large < 10 * small + 0.05


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if len(word) > 3][:5] or ["thing"]


def judgement(text: str, **fields: Any) -> dict[str, Any]:
    """An answer to any of the questions: what was understood of `text`, and `fields`."""
    return {
        "keywords": words(text),
        "tags": ["tag-" + words(text)[0].lower(), "talk"],
        "context": f"About {' '.join(words(text)[:2])}.",
        "questions": [f"What about {words(text)[0]}?"],
        "links": [],
        "evolutions": [],
        **fields,
    }


def links_everything(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Links the note to every candidate and adds its first word to their keywords."""
    marker = words(text)[0]
    return judgement(
        text,
        links=[
            {"to": c["n"], "reason": f"both on {marker}", "kind": "same-matter", "strength": 0.9}
            for c in candidates
        ],
        evolutions=[
            {
                "note": c["n"],
                "keywords": [*c.get("keywords", []), f"seen-{marker}"],
                "tags": [*c.get("tags", []), f"tag-{marker}"],
                "context": f"{c.get('context', '')} Now with {marker}.",
                "reason": f"{marker} came up",
            }
            for c in candidates
        ],
    )


def replies(judge: Judge = links_everything) -> Callable[[Sequence[BaseMessage]], dict[str, Any]]:
    """What a scripted model says that answers as `judge` does, called once for each new note."""

    def reply(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        batch = shown_batch(messages)
        if not batch:
            return dict(judge(*shown_notes(messages)))
        return {"notes": [{"n": n, **judge(*asked)} for n, asked in batch.items()]}

    return reply


def copies_everything(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """The worst of judges: repeats whatever it can read, wherever it can write."""
    read = sorted(set(MARK.findall(text + json.dumps(candidates))))
    words = " ".join(read)
    return judgement(
        text,
        keywords=read,
        tags=[f"t-{word}" for word in read],
        context=f"On {words}.",
        questions=[f"Who said {words}?"],
        links=[
            {"to": c["n"], "reason": words, "kind": "cause", "strength": 1.0} for c in candidates
        ],
        evolutions=[
            {
                "note": c["n"],
                "keywords": read,
                "tags": [f"e-{word}" for word in read],
                "context": f"Now {words}.",
                "reason": words,
            }
            for c in candidates
        ],
    )


def chat_model(judge: Judge = links_everything, **settings: Any) -> ScriptedChatModel:
    return ScriptedChatModel(replies(judge), **settings)


def grouped(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a memory, those of an option object given by their own names."""
    for group, kind in OPTIONS.items():
        names = {each.name for each in fields(kind)} & settings.keys() - {"formation", "mode"}
        given = {name: settings.pop(name) for name in names}
        if given:
            settings[group] = kind(**given)
    return settings


def open_memory(location: Any = None, **settings: Any) -> AgenticMemory:
    """A memory that embeds by hashing; without a location, on an empty store of the pool."""
    settings = grouped(settings)
    embedder = settings.setdefault("embedder", EMBEDDER)
    pooled = location is None and "collection" not in settings and type(embedder) is HashEmbedder
    # Tests hide the embedded engine to have the client's local mode.
    if pooled and importlib.util.find_spec("qdrant_edge") is not None:
        return POOL.open(**settings)
    return AgenticMemory(location, **settings)


def emptied(memory: AgenticMemory, *, check: bool = True) -> Iterator[AgenticMemory]:
    """For a fixture: the shared memory, which is checked and emptied after the test.

    check: False for tests that leave damage on purpose.
    """
    yield memory
    assert not check or memory.admin.check() == []
    for namespace in memory.namespaces():
        memory.admin.forget_namespace(namespace)


def again(memory: AgenticMemory, note: Note | str) -> Note:
    """The note as it is now; it must exist."""
    found = memory.get(note)
    assert found is not None
    return found


def notes_in(text: str) -> list[dict[str, Any]]:
    """The notes that `pack` shows in a text, read as a model would."""
    found: list[dict[str, Any]] = []
    for match in filter(None, map(LINE.fullmatch, text.split("\n"))):
        fields = {name: value for name, value in match.groupdict().items() if value is not None}
        found.append({n: json.loads(v) if v.startswith('"') else v for n, v in fields.items()})
    return found
