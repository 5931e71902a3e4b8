"""Stored text never becomes more than quoted data, whatever it holds and wherever it stands.

These tests were written from the documentation, before the code that they test was changed.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory, StaticMemoryBlock

from amem_integrations import AgenticMemory, Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.langchain import create_memory_tools
from amem_integrations.langgraph import AMemMiddleware, AMemStore
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock
from amem_integrations.llama_index import create_memory_tools as create_llama_tools
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.faults.attacks import ATTACKS, KINDS, Attack, of_kind, valid
from tests.faults.obedient import answer, obedient
from tests.faults.quoting import (
    Prompt,
    flaws,
    is_invisible,
    quoted_notes,
    shape,
    unsafe_text,
)

QUESTION = "Where does the boat sail?"
MUCH = 10_000_000
Recall = Callable[[AgenticMemory, str], Prompt]


def texts(messages: Sequence[BaseMessage]) -> Prompt:
    return [(message.type, message.text) for message in messages]


def chat_texts(messages: Sequence[ChatMessage]) -> Prompt:
    return [(message.role.value, message.content or "") for message in messages]


# Memories of attacks --------------------------------------------------------------------------


class Memories:
    """Memories that are filled with the attacks of a kind when a test asks for them."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[AgenticMemory, ScriptedChatModel | None]] = {}
        self._prompts: dict[tuple[str, str], list[Prompt]] = {}
        self.stored: dict[tuple[str, str], list[tuple[Note, Mapping[str, Any]]]] = {}

    def of(self, mode: str, kind: str) -> AgenticMemory:
        """A memory with the attacks of a kind in the namespace of its name."""
        memory, model = self._opened(mode)
        if (mode, kind) not in self._prompts:
            asked = len(model.calls) if model else 0
            self.stored[mode, kind] = list(store(memory, of_kind(kind), kind))
            memory.resume()
            if model is not None and mode != "batched":
                memory.lifecycle.consolidate(kind, dry_run=False)
            calls = model.calls[asked:] if model else []
            self._prompts[mode, kind] = [texts(call.messages) for call in calls]
        return memory

    def prompts(self, mode: str, kind: str) -> list[Prompt]:
        """What the model was asked while these attacks were stored."""
        self.of(mode, kind)
        return self._prompts[mode, kind]

    def close(self) -> None:
        for memory, _ in self._open.values():
            memory.close()

    def _opened(self, mode: str) -> tuple[AgenticMemory, ScriptedChatModel | None]:
        if mode not in self._open:
            model = None if mode == "statistics" else ScriptedChatModel(obedient)
            self._open[mode] = (
                AgenticMemory(
                    model=model,
                    mode="fused" if mode == "statistics" else mode,  # type: ignore[arg-type]
                    embedder=HashEmbedder(),
                    formation="off",
                    lifecycle=True,
                ),
                model,
            )
        return self._open[mode]


def store(
    memory: AgenticMemory, attacks: Sequence[Attack], namespace: str
) -> Iterator[tuple[Note, Mapping[str, Any]]]:
    """Store each attack in each place that a caller can fill; yield notes, and what was given."""
    for number, attack in enumerate(attacks):
        text, plain = attack.text, f"The boat sails to island {number} on day"
        places: tuple[Mapping[str, Any], ...] = (
            {"content": text},
            {"content": f"{plain} 1", "speaker": text},
            {"content": f"{plain} 2", "session": text, "sequence": number},
            {"content": f"{plain} 3", "key": text},
            {"content": f"{plain} 4", "metadata": {"said": text, text: [text]}},
        )
        for place in places:
            given = {"source": "user", "metadata": {"n": number}} | dict(place)
            try:
                yield memory.add(namespace=namespace, **given), given
            except InvalidInputError:
                continue  # refused: nothing was stored


@pytest.fixture(scope="module")
def memories() -> Iterator[Memories]:
    made = Memories()
    yield made
    made.close()


@pytest.fixture(scope="module")
def harmless_prompts(memories: Memories) -> list[Prompt]:
    """All ways in which a model is asked: with older notes and without, for one note or several."""
    model = ScriptedChatModel(lambda asked: {**obedient(asked), "links": [], "evolutions": []})
    with AgenticMemory(model=model, embedder=HashEmbedder(), lifecycle=True) as memory:
        for day in range(5):
            memory.add(f"The boat is called Susie and sails on day {day} to the isle of Wight")
        memory.lifecycle.consolidate(dry_run=False)
    distilling = [texts(call.messages) for call in model.calls]
    assert len(distilling) == 6
    formed = [memories.prompts(mode, "harmless") for mode in ("fused", "staged", "batched")]
    return [
        *distilling,
        *_turn_prompts("harmless"),
        *(each for prompts in formed for each in prompts),
    ]


# Where stored text reaches a model ------------------------------------------------------------


def packed(memory: AgenticMemory, namespace: str) -> Prompt:
    return [("", memory.pack(memory.search(QUESTION, namespace=namespace, k=100), MUCH))]


def packed_by_time(memory: AgenticMemory, namespace: str) -> Prompt:
    hits = memory.search(QUESTION, namespace=namespace, k=100)
    return [("", memory.pack(hits, MUCH, order="time"))]


def middleware(memory: AgenticMemory, namespace: str) -> Prompt:
    chat = ScriptedChatModel(["Fine."])
    remembering = AMemMiddleware(memory, namespace=namespace, write="off", k=100, token_budget=MUCH)
    agent = create_agent(chat, middleware=[remembering], system_prompt="Be brief.")
    agent.invoke({"messages": QUESTION})
    return texts(chat.calls[-1].messages)


def search_tool(memory: AgenticMemory, namespace: str) -> Prompt:
    search, _ = create_memory_tools(memory, namespace=namespace, token_budget=MUCH)
    return [("tool", search.invoke({"query": QUESTION, "limit": 100}))]


def recall_tool(memory: AgenticMemory, namespace: str) -> Prompt:
    recall, _ = create_llama_tools(memory, namespace=namespace, top_k=100, max_tokens=MUCH)
    return [("tool", str(recall(query=QUESTION)))]


def llama_memory(insert: str) -> Recall:
    def recall(memory: AgenticMemory, namespace: str) -> Prompt:
        chat = AMemMemory.from_defaults(
            core=memory,
            namespace=namespace,
            top_k=100,
            max_tokens=MUCH,
            token_limit=10 * MUCH,
            insert_method=insert,  # type: ignore[arg-type]
        )
        return chat_texts(chat.get(input=QUESTION))

    return recall


def llama_block(memory: AgenticMemory, namespace: str) -> Prompt:
    known = AMemMemoryBlock(
        memory, namespace=namespace, name="known", priority=0, top_k=100, max_tokens=MUCH
    )
    rules = StaticMemoryBlock(name="rules", static_content="Be brief.")
    question = ChatMessage(role="user", content=QUESTION)
    composed = Memory.from_defaults(
        chat_history=[question], memory_blocks=[rules, known], token_limit=10 * MUCH
    )

    async def get() -> list[ChatMessage]:
        messages = await composed.aget()
        engine = composed.sql_store._async_engine
        assert engine is not None
        await engine.dispose()  # or its connection would be left open
        return messages

    return chat_texts(asyncio.run(get()))


RECALLS: Mapping[str, Recall] = {
    "pack": packed,
    "pack by time": packed_by_time,
    "middleware": middleware,
    "search_memory": search_tool,
    "recall": recall_tool,
    "AMemMemory in system": llama_memory("system"),
    "AMemMemory in user": llama_memory("user"),
    "AMemMemoryBlock": llama_block,
}


def assert_quoted(prompts: Sequence[Prompt], harmless: Sequence[Prompt]) -> None:
    shapes = {shape(prompt) for prompt in harmless}
    assert not any(flaws(prompt, shapes) for prompt in harmless), "the oracle is wrong"
    found = sorted({flaw for prompt in prompts for flaw in flaws(prompt, shapes)})
    assert not found, "\n".join([f"{len(found)} flaws:", *found[:25]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recall", RECALLS)
def test_recalled_notes_stay_quoted(memories: Memories, recall: str, kind: str) -> None:
    harmless = RECALLS[recall](memories.of("staged", "harmless"), "harmless")
    memory = memories.of("staged", kind)
    prompt = RECALLS[recall](memory, kind)
    last = memory.last_recall(kind)
    assert last is not None
    assert quoted_notes(prompt) == len(last.hits) > len(of_kind(kind)), (
        "notes are missing, or made up"
    )
    assert_quoted([prompt], [harmless])


@pytest.mark.parametrize("kind", KINDS)
def test_notes_formed_without_a_model_stay_quoted(memories: Memories, kind: str) -> None:
    prompt = packed(memories.of("statistics", kind), kind)
    assert_quoted([prompt], [packed(memories.of("statistics", "harmless"), "harmless")])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["fused", "staged", "batched"])
def test_notes_stay_quoted_where_notes_are_formed(
    memories: Memories, harmless_prompts: list[Prompt], mode: str, kind: str
) -> None:
    prompts = memories.prompts(mode, kind)
    assert len(prompts) >= 1
    assert_quoted(prompts, harmless_prompts)


@pytest.mark.parametrize("kind", KINDS)
def test_items_of_a_store_stay_quoted(kind: str) -> None:
    with AgenticMemory(embedder=HashEmbedder(), formation="off") as memory:
        items = AMemStore(memory)
        for name in (kind, "harmless"):
            for attack in of_kind(name):
                try:
                    items.put((name,), attack.name, {"text": attack.text, attack.text: 1})
                except InvalidInputError:
                    continue
        assert_quoted([packed(memory, kind)], [packed(memory, "harmless")])


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_a_namespace_reach_no_prompt_raw(kind: str) -> None:
    with AgenticMemory(embedder=HashEmbedder(), formation="off") as memory:
        for namespace in ("harmless", *(attack.text for attack in of_kind(kind))):
            for recall in (packed, search_tool, recall_tool):
                try:
                    memory.add("The boat sails on Monday", namespace=namespace)
                    prompt = recall(memory, namespace)
                except InvalidInputError:
                    continue  # no label, or none of an adapter, where braces are fields
                assert_quoted([prompt], [recall(memory, "harmless")])


@pytest.mark.parametrize("kind", KINDS)
def test_turns_stay_quoted_where_a_model_is_in_doubt(
    harmless_prompts: list[Prompt], kind: str
) -> None:
    assert_quoted(_turn_prompts(kind), harmless_prompts)


def _turn_prompts(kind: str) -> list[Prompt]:
    model = ScriptedChatModel(obedient)
    with AgenticMemory(model=model, embedder=HashEmbedder(), formation="off") as memory:
        for attack in of_kind(kind):
            text = valid(attack.text)
            place = {"namespace": attack.name, "session": "chat", "speaker": f"Ada {text[:500]}"}
            memory.add(f"The boat is called Susie and sails on day 3 to Wight {text}", **place)
            again = f"Susie is what the boat is called, it sails on day 3 to Wight {text}"
            memory.add_turn(again, formation="inline", **place)
    return [texts(call.messages) for call in model.calls]


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_repeats_an_attack_is_shown_again_without_tokens(kind: str) -> None:
    found: dict[str, list[str]] = {}
    fine = answer("boat", ())
    model = ScriptedChatModel(lambda asked: fine if len(asked) > 2 else valid(attack.text))
    with AgenticMemory(model=model, embedder=HashEmbedder()) as memory:
        for attack in of_kind(kind):
            asked = len(model.calls)
            memory.add(f"The boat sails on Monday, says {attack.name}")
            prompts = [texts(call.messages) for call in model.calls[asked:]]
            assert max(map(len, prompts)) > 2, "it was not asked again"
            if unsafe := sorted({flaw for prompt in prompts for flaw in unsafe_text(prompt)}):
                found[attack.name] = unsafe
    assert not found


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_stored_is_returned_exactly(memories: Memories, kind: str) -> None:
    memory = memories.of("staged", kind)
    assert memories.stored["staged", kind]
    for note, given in memories.stored["staged", kind]:
        now = memory.get(note)
        assert now is not None
        for name, value in given.items():
            if name == "metadata":
                assert json.loads(now.metadata_json) == json.loads(json.dumps(value))
            else:
                assert getattr(now, name) == value, name


# The oracle and the attacks -------------------------------------------------------------------


def test_there_are_many_attacks_of_many_kinds() -> None:
    assert len(ATTACKS) >= 100
    assert len(KINDS) >= 18
    assert len({(attack.kind, attack.name) for attack in ATTACKS}) == len(ATTACKS)


def test_what_is_invisible_is_known() -> None:
    assert all(is_invisible(chr(point)) for point in (0x200B, 0xFE0F, 0xE0041, 0x3164, 0x9B, 0x1B))
    assert not any(is_invisible(letter) for letter in "a\n\t é用️"[:-1])
