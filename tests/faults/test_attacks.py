"""Stored text never becomes more than quoted data, whatever it holds and wherever it stands.

All attacks are stored in a few memories, in notes of several attacks, and each surface is tested
with all of them at once. A note is known by the day on which it was said, so a failure can name it.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
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
from amem_integrations.testing import ScriptedChatModel
from tests.faults.attacks import ATTACKS, HARMLESS, KINDS, Attack, Bundle, bundles, text_of
from tests.faults.obedient import answer, obedient
from tests.faults.quoting import (
    Prompt,
    Shape,
    days,
    flaws,
    is_invisible,
    quoted_notes,
    shape,
    unsafe_text,
)
from tests.support import open_memory

QUESTION = "Where does the boat sail?"
MUCH = 10_000_000
MOST = 1000
BUNDLES = bundles(ATTACKS)
PLAIN = bundles(HARMLESS, most=1)
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
Recall = Callable[[AgenticMemory, str], Prompt]


def said_on(number: int) -> datetime:
    return FIRST_DAY + timedelta(days=number)


def named(day: str, flaw: str) -> str:
    """A flaw with the attacks that are to blame, or all those of a day as it is in a prompt."""
    there: Iterable[Attack] = ()
    if day:
        number = (datetime.fromisoformat(day).replace(tzinfo=UTC) - FIRST_DAY).days
        there = BUNDLES[number] if number < len(BUNDLES) else ()
    # A model that obeys carries an attack into other notes.
    guilty = [
        [each for each in attacks if flaw in unsafe_text([("", each.text)])]
        for attacks in (there, ATTACKS)
    ]
    blamed = next(filter(None, [*guilty, there]), ())
    names = "; ".join(f"{each.kind}, {each.name}" for each in blamed)
    return f"{names or 'the frame'}: {flaw}"


def texts(messages: Sequence[BaseMessage]) -> Prompt:
    return [(message.type, message.text) for message in messages]


def chat_texts(messages: Sequence[ChatMessage]) -> Prompt:
    return [(message.role.value, message.content or "") for message in messages]


def prompts(model: ScriptedChatModel) -> list[Prompt]:
    return [texts(call.messages) for call in model.calls]


def understands(messages: list[BaseMessage]) -> dict[str, Any]:
    """Obey, but for links and evolutions, which would contest notes that are to be distilled."""
    told = obedient(messages)
    notes = [{**note, "links": [], "evolutions": []} for note in told.get("notes", ())]
    return {**told, "links": [], "evolutions": [], "notes": notes}


# Memories of attacks --------------------------------------------------------------------------


def store(
    memory: AgenticMemory, bundles: Sequence[Bundle], namespace: str
) -> Iterator[tuple[Note, Mapping[str, Any]]]:
    """Store each attack in every place that a caller can fill; yield notes, and what was given."""
    for number, bundle in enumerate(bundles):
        text = text_of(bundle)
        given = {
            "content": text,
            "speaker": text[:900],
            "session": text[:900],
            "sequence": number,
            "key": text[:900],
            "metadata": {"said": [attack.text for attack in bundle], text: [text]},
            "source": "user",
            "occurred_at": said_on(number),
        }
        yield memory.add(namespace=namespace, **given), given


class Filled:
    """A memory of all attacks, and of harmless notes, and what its model was asked."""

    def __init__(self, mode: str | None) -> None:
        self.model = ScriptedChatModel(obedient) if mode else None
        self.memory = open_memory(
            model=self.model, mode=mode or "fused", formation="off", neighbours=2, lifecycle=True
        )
        self.harmless: list[Prompt] = []
        self.stored: list[tuple[Note, Mapping[str, Any]]] = []
        # What stands at the end of one memory's notes stands at the beginning of another's.
        turn = -1 if mode in ("staged", None) else 1
        attacks = [bundle[::turn] for bundle in BUNDLES]
        for namespace, bundled in (("harmless", PLAIN), ("attacks", attacks)):
            self.stored = list(store(self.memory, bundled, namespace))
            self.memory.resume()
            if self.model and namespace == "harmless":
                self.harmless = prompts(self.model)
        self.prompts = prompts(self.model)[len(self.harmless) :] if self.model else []


@pytest.fixture(scope="module")
def filled() -> Iterator[Callable[[str | None], Filled]]:
    """Memories of attacks by how they are formed; each is filled when it is first asked for."""
    made: dict[str | None, Filled] = {}

    def of(mode: str | None) -> Filled:
        if mode not in made:
            made[mode] = Filled(mode)
        return made[mode]

    yield of
    for each in made.values():
        each.memory.close()


# Where stored text reaches a model ------------------------------------------------------------


def packed(memory: AgenticMemory, namespace: str) -> Prompt:
    return [("", memory.pack(memory.search(QUESTION, namespace=namespace, k=MOST), MUCH))]


def packed_by_time(memory: AgenticMemory, namespace: str) -> Prompt:
    hits = memory.search(QUESTION, namespace=namespace, k=MOST)
    return [("", memory.pack(hits, MUCH, order="time"))]


def middleware(memory: AgenticMemory, namespace: str) -> Prompt:
    chat = ScriptedChatModel(["Fine."])
    remembering = AMemMiddleware(
        memory, namespace=namespace, write="off", k=MOST, token_budget=MUCH
    )
    agent = create_agent(chat, middleware=[remembering], system_prompt="Be brief.")
    agent.invoke({"messages": QUESTION})
    return texts(chat.calls[-1].messages)


def search_tool(memory: AgenticMemory, namespace: str) -> Prompt:
    search, _ = create_memory_tools(memory, namespace=namespace, token_budget=MUCH)
    return [("tool", search.invoke({"query": QUESTION, "limit": 100}))]


def recall_tool(memory: AgenticMemory, namespace: str) -> Prompt:
    recall, _ = create_llama_tools(memory, namespace=namespace, top_k=MOST, max_tokens=MUCH)
    return [("tool", str(recall(query=QUESTION)))]


def llama_memory(insert: str) -> Recall:
    def recall(memory: AgenticMemory, namespace: str) -> Prompt:
        chat = AMemMemory.from_defaults(
            core=memory,
            namespace=namespace,
            top_k=MOST,
            max_tokens=MUCH,
            token_limit=10 * MUCH,
            insert_method=insert,  # type: ignore[arg-type]
        )
        return chat_texts(chat.get(input=QUESTION))

    return recall


def llama_block(memory: AgenticMemory, namespace: str) -> Prompt:
    known = AMemMemoryBlock(
        memory, namespace=namespace, name="known", priority=0, top_k=MOST, max_tokens=MUCH
    )
    rules = StaticMemoryBlock(name="rules", static_content="Be brief.")
    composed = Memory.from_defaults(memory_blocks=[rules, known], token_limit=10 * MUCH)

    async def get() -> list[ChatMessage]:
        await composed.aput(ChatMessage(role="user", content=QUESTION))
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


def assert_quoted(asked: Sequence[Prompt], harmless: Sequence[Prompt]) -> None:
    shapes: set[Shape] = {shape(prompt) for prompt in harmless}
    assert not any(flaws(prompt, shapes) for prompt in harmless), "the oracle is wrong"
    found = {flaw for prompt in asked for flaw in flaws(prompt, shapes)}
    shown = sorted({named(day, flaw) for day, flaw in found})
    assert not shown, "\n".join([f"{len(shown)} flaws:", *shown[:40]])


@pytest.mark.parametrize("recall", RECALLS)
def test_recalled_notes_stay_quoted(filled: Callable[[str | None], Filled], recall: str) -> None:
    memory = filled("fused").memory
    harmless = RECALLS[recall](memory, "harmless")
    prompt = RECALLS[recall](memory, "attacks")
    last = memory.last_recall("attacks")
    assert last is not None
    assert len(BUNDLES) - 3 < quoted_notes(prompt) == len(last.hits), "missing, or made up"
    assert_quoted([prompt], [harmless])


def test_notes_formed_without_a_model_stay_quoted(
    filled: Callable[[str | None], Filled],
) -> None:
    memory = filled(None).memory
    assert_quoted([packed(memory, "attacks")], [packed(memory, "harmless")])


@pytest.mark.parametrize("mode", ["fused", "staged", "batched"])
def test_notes_stay_quoted_where_they_are_formed(
    filled: Callable[[str | None], Filled], mode: str
) -> None:
    made = filled(mode)
    assert len({day for prompt in made.prompts for day in days(prompt)}) == len(BUNDLES)
    assert_quoted(
        made.prompts, [*made.harmless, *filled("fused").harmless]
    )  # a batch may be of one


def test_notes_stay_quoted_where_a_model_sums_them_up() -> None:
    model = ScriptedChatModel(understands)
    with open_memory(model=model, mode="batched", formation="off") as memory:
        asked: dict[str, list[Prompt]] = {}
        for namespace, bundled in (("harmless", PLAIN), ("attacks", BUNDLES)):
            for number, bundle in enumerate(bundled):
                plain = f"The boat is called Susie and sails to Wight and Man on day {number}"
                text = text_of(bundle)
                memory.add(
                    f"{plain}. {text[:60]}",
                    namespace=namespace,
                    speaker=text[:90],
                    occurred_at=said_on(number),
                )
            memory.resume()
            formed = len(model.calls)
            memory.lifecycle.consolidate(namespace, dry_run=False)
            asked[namespace] = prompts(model)[formed:]
    assert len(asked["attacks"]) > 3
    assert_quoted(asked["attacks"], asked["harmless"])


def test_turns_stay_quoted_where_a_model_is_in_doubt() -> None:
    asked = turn_prompts(BUNDLES)
    assert sum('ideas of the "turn"' in messages[-1][1] for messages in asked) == len(BUNDLES)
    assert_quoted(asked, turn_prompts(PLAIN))


def turn_prompts(bundled: Sequence[Bundle]) -> list[Prompt]:
    new = {"ideas": [{"first": "1", "kind": "new", "of": ""}], **answer("boat", ())}
    model = ScriptedChatModel(lambda asked: new)
    with open_memory(model=model, formation="off") as memory:
        for number, bundle in enumerate(bundled):
            text = text_of(bundle)[:1500]
            place: dict[str, Any] = {
                "namespace": f"n{number}",
                "session": "chat",
                "speaker": f"Ada {text[:500]}",
                "occurred_at": said_on(number),
            }
            memory.add(f"The boat is called Susie and sails on day 3 to Wight {text}", **place)
            again = f"Susie is what the boat is called, it sails on day 3 to Wight {text}"
            memory.add_turn(again, formation="inline", **place)
    return prompts(model)


def test_items_of_a_store_stay_quoted() -> None:
    with open_memory(formation="off") as memory:
        items = AMemStore(memory)
        for namespace, bundled in (("harmless", PLAIN), ("attacks", BUNDLES)):
            for number, bundle in enumerate(bundled):
                text = text_of(bundle)
                items.put((namespace,), f"{number} {text[:900]}", {"text": text, text: 1})
        assert memory.count("attacks") == len(BUNDLES)
        assert_quoted([packed(memory, "attacks")], [packed(memory, "harmless")])


def test_labels_of_a_namespace_reach_no_prompt_raw() -> None:
    recalls = (packed, recall_tool)
    with open_memory(formation="off") as memory:
        memory.add("The boat sails", namespace="harmless")
        harmless = [recall(memory, "harmless") for recall in recalls]
        for number, bundle in enumerate(BUNDLES):
            label, asked = text_of(bundle), []
            try:
                memory.add("The boat sails", namespace=label, occurred_at=said_on(number))
                asked = [recall(memory, label) for recall in recalls]
            except InvalidInputError:
                continue  # no label, or none of an adapter, where braces are fields
            assert_quoted(asked, harmless)


def test_an_answer_that_repeats_an_attack_is_shown_again_without_tokens() -> None:
    answers: list[Any] = []
    model = ScriptedChatModel(lambda asked: answers.pop(0))
    found: set[str] = set()
    with open_memory(model=model) as memory:
        for number, bundle in enumerate(BUNDLES):
            answers[:] = [text_of(bundle), answer("boat", ())]
            memory.add("The boat sails on Monday", namespace=f"n{number}")
            asked = texts(model.calls[-1].messages)
            assert [role for role, _ in asked] == ["system", "human", "ai", "human"]
            found |= {named(f"{said_on(number):%Y-%m-%d}", flaw) for flaw in unsafe_text(asked)}
    assert not found


def test_a_tool_that_explains_a_mistake_quotes_no_tokens() -> None:
    found: set[str] = set()
    with open_memory() as memory:
        search, manage = create_memory_tools(memory, namespace="boats")
        recall, _ = create_llama_tools(memory, namespace="boats")
        for number, bundle in enumerate(BUNDLES):
            text = text_of(bundle)
            told = [
                manage.invoke({"action": "delete", "id": text}),
                search.invoke({"query": "boat", "filter": {text: text}}),
                search.invoke({"query": "boat", "filter": {"speaker": {text: text}}}),
                str(recall(query=text)),
            ]
            unsafe = unsafe_text([("tool", "\n".join(told))])
            found |= {named(f"{said_on(number):%Y-%m-%d}", flaw) for flaw in unsafe}
    assert not found


@pytest.mark.parametrize("mode", ["fused", None])
def test_what_was_stored_is_returned_exactly(
    filled: Callable[[str | None], Filled], mode: str | None
) -> None:
    made = filled(mode)
    assert len(made.stored) == len(BUNDLES)
    for note, given in made.stored:
        now = made.memory.get(note)
        assert now is not None
        assert json.loads(now.metadata_json) == json.loads(json.dumps(given["metadata"]))
        for name in given.keys() - {"metadata"}:
            assert getattr(now, name) == given[name], (name, named(str(now.occurred_at)[:10], ""))


# The oracle and the attacks -------------------------------------------------------------------


def test_there_are_many_attacks_of_many_kinds_and_each_is_in_one_note() -> None:
    assert len(ATTACKS) >= 100
    assert len(KINDS) >= 18
    assert len({(attack.kind, attack.name) for attack in ATTACKS}) == len(ATTACKS)
    assert [attack for bundle in BUNDLES for attack in bundle] == list(ATTACKS)


def test_a_failure_names_the_attack() -> None:
    frame = "Notes:\n"
    harmless = [("user", frame + '{"on":"2020-01-01","text":"boat"}')]
    for number, bundle in enumerate(BUNDLES[:3]):
        line = json.dumps({"on": f"{said_on(number):%Y-%m-%d}", "text": bundle[-1].text})
        with pytest.raises(AssertionError, match=f"{bundle[-1].kind}, {bundle[-1].name}: token"):
            assert_quoted([[("user", frame + line)]], [harmless])


def test_what_is_invisible_is_known() -> None:
    assert all(is_invisible(chr(point)) for point in (0x200B, 0xFE0F, 0xE0041, 0x3164, 0x9B, 0x1B))
    assert not any(is_invisible(letter) for letter in "a\n\t é用️"[:-1])
