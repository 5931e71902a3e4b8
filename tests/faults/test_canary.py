"""A word is spread through every feature, its notes are forgotten, and it is looked for everywhere.

Where it may stay is what the security page says: bytes in files until these are compacted,
checkpoints and exports that were made before, and the callers' own conversation.
"""

import gc
import logging
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.langchain import AMemRetriever, create_memory_tools
from amem_integrations.langgraph import AMemStore
from amem_integrations.stores.edge.compaction import compact
from amem_integrations.testing import ScriptedChatModel
from tests.langgraph.support import CALVIN, agent, config, said
from tests.llama_index.support import assistant, memory_of, user
from tests.support import EMBEDDER, links_everything, replies

CANARY = "mark77x"
TOLD = f"{CANARY} is the boat that leaves at four"
ASKED = "When does the boat leave?"
CHAT = config("calvin", "monday")
OTHERS = ("The boat has a green hull", "The boat yard closes at six", "Four boats are for sale")


@pytest.fixture
def model() -> ScriptedChatModel:
    return ScriptedChatModel(replies(links_everything))


def test_a_word_is_nowhere_after_its_notes_were_forgotten(
    tmp_path: Path, model: ScriptedChatModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    home = tmp_path / "m"
    with AgenticMemory(
        home, embedder=EMBEDDER, model=model, formation="inline", lifecycle=True
    ) as memory:
        others = memory.add_many(OTHERS, namespace=CALVIN)
        spread(memory)
        # It did get around, or nothing is shown by its absence.
        assert CANARY in str([memory.get(note, namespace=CALVIN) for note in others])
        assert CANARY in exported(memory)
        assert held(memory) != []
        for note in memory.recent(namespace=CALVIN, limit=100):
            if CANARY in note.content:
                memory.forget(note, duplicates=True)
        AMemStore(memory).delete(CALVIN, "item")
        memory.resume()

        chat = agent(memory, ScriptedChatModel(["At four."]), write="off", tools=())
        chat.invoke(said(ASKED), CHAT)
        assert CANARY not in exported(memory)
        assert CANARY not in str(memory.search(ASKED, namespace=CALVIN, k=50))
        assert CANARY not in str(memory.pack(memory.search(ASKED, namespace=CALVIN), 500))
        assert CANARY not in str([memory.history(note, namespace=CALVIN) for note in others])
        assert memory.admin.check() == []
        assert held(memory) == []
    compact(home / "amem")
    assert [path.name for path in files(home) if CANARY.encode() in path.read_bytes()] == []
    logged = [each for each in caplog.messages if CANARY in each]
    assert logged == []


def spread(memory: AgenticMemory) -> None:
    """Let every feature that keeps or passes on text have the word."""
    about: dict[str, Any] = {"session": CANARY, "speaker": CANARY, "metadata": {"code": CANARY}}
    note = memory.add(TOLD, namespace=CALVIN, key=CANARY, **about)
    note = memory.update(note, f"{TOLD}, or at five", namespace=CALVIN)
    note = memory.revert(note, namespace=CALVIN)
    memory.add(f"{TOLD} now", namespace=CALVIN, supersedes=note)
    for key in "ab":
        memory.add(f"The crew of {CANARY} is six people", namespace=CALVIN, key=key, session=key)
    memory.lifecycle.consolidate(dry_run=False, similarity=0.1)
    memory.lifecycle.maintain()
    memory.search(CANARY, namespace=CALVIN)
    memory.pack(memory.search(ASKED, namespace=CALVIN), 500)

    AMemStore(memory).put(CALVIN, "item", {"text": TOLD, "code": CANARY})
    search, manage = create_memory_tools(memory, namespace=CALVIN)
    manage.invoke({"action": "create", "content": f"The anchor of {CANARY} is lost"})
    search.invoke({"query": CANARY})
    AMemRetriever(memory=memory, namespace=CALVIN).invoke(CANARY)
    chat = agent(memory, ScriptedChatModel([ConnectionError("away")]), tools=())
    with pytest.raises(ConnectionError):
        chat.invoke(said(f"Where does {CANARY} lie?"), CHAT)
    turns = memory_of(memory, "calvin")
    turns.put_messages([user(f"I paint {CANARY} red"), assistant(f"{CANARY} in red, noted")])
    turns.get(f"Which colour has {CANARY}?")
    for each in memory.recent(namespace="calvin", limit=100):
        memory.forget(each, namespace="calvin")


def exported(memory: AgenticMemory) -> str:
    return "".join(
        line for namespace in memory.namespaces() for line in memory.admin.export(namespace)
    )


def files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file())


def held(root: object) -> list[str]:
    """Texts with the word that can be reached from an object, with the way to each."""
    way, found, left = {id(root): type(root).__name__}, list[str](), [root]
    # A scripted model keeps what it was asked; that is the test's own.
    skipped = (type, types.ModuleType, types.FunctionType, types.FrameType, ScriptedChatModel)
    while left:
        holder = left.pop()
        for each in gc.get_referents(holder):
            if id(each) in way or isinstance(each, skipped):
                continue
            way[id(each)] = f"{way[id(holder)]} > {type(each).__name__}"
            if isinstance(each, str):
                found += [f"{way[id(holder)]}: {each[:80]}"] if CANARY in each else []
            else:
                left.append(each)
    return found
