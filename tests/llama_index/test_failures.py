"""What goes wrong around a chat memory, and that nothing said is lost by it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from llama_index.core.memory import BaseMemoryBlock

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import StoreUnavailableError
from amem_integrations.llama_index import AMemMemoryBlock
from amem_integrations.llama_index.chat_store import InProcessChatStore
from amem_integrations.llama_index.notes import MAX_TURN
from amem_integrations.testing import HashEmbedder
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import ADD, FACT, FIND, assistant, contents, memory_of, simple, user
from tests.support import chat_model, judgement, open_memory


async def test_a_turn_goes_on_when_the_memory_is_down_and_nothing_is_lost(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def down(*args: Any, **kwargs: Any) -> Any:
        raise StoreUnavailableError(f"down, and this is secret: {FACT}")

    llm = ScriptedLLM(["Noted.", "Fine."])
    talk = simple(llm, memory := memory_of(core))
    with monkeypatch.context() as patch:
        patch.setattr(FIND, down)
        patch.setattr(ADD, down)
        assert str(await talk.achat(FACT)) == "Noted."
        assert memory.events == {"ingest.failed": 2, "recall.failed": 1}
        assert core.count("calvin") == 0
    assert FACT not in caplog.text
    assert "StoreUnavailableError" in caplog.text
    await talk.achat("And now?")
    assert contents(core) == [FACT, "Noted.", "And now?", "Fine."]
    assert core.admin.health()["llama_index.recall.failed"] == 1
    assert await memory.aflush(10)


# -- a message that cannot be stored -------------------------------------------------------------


class Picky(HashEmbedder):
    """Refuses a text as a provider refuses one that is too long; the others are fine."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("too long" in text for text in texts):
            raise ValueError("maximum context length exceeded")
        return super().embed_documents(texts)


def test_a_message_that_is_always_refused_does_not_hold_up_the_others() -> None:
    with open_memory(embedder=Picky(), formation="off") as core:
        memory = memory_of(core, ingest="manual")
        memory.put(user("First"))
        memory.put_messages([user("Before"), user("This is too long"), user("After")])
        memory.put(assistant("Then"))
        memory.put(assistant("Last"))
        assert sorted(contents(core)) == ["After", "Before", "First", "Last", "Then"]
        assert [item["content"] for item in memory._notes.waiting] == ["This is too long"]
        assert memory.events["ingest.failed"] == 3
        # A message that no note can hold, whatever happens, does not wait.
        memory._notes.waiting[:] = [{"content": "Nobody", "key": "k" * 100_000}]
        memory.put(user("Now"))
        assert memory._notes.waiting == []
        assert "Now" in contents(core)


@pytest.mark.parametrize(
    ("error", "most"), [(StoreUnavailableError("down"), 6), (ConnectionError("down"), 11)]
)
def test_a_memory_that_is_down_is_not_asked_for_each_message_that_waits(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch, error: Exception, most: int
) -> None:
    asked: list[int] = []

    async def refuse(wiring: Any, io: Any, items: list[Any], *_: Any) -> Any:
        asked.append(len(items))
        raise error

    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(ADD, refuse)
        for n in range(6):
            memory.put(user(f"Fact {n}"))
        assert len(asked) <= most
        assert memory.events == {"ingest.failed": 6}
    memory.put(user("Fact 6"))
    assert contents(core) == [f"Fact {n}" for n in range(7)]


def test_a_text_that_no_note_can_hold_is_skipped_and_counted(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user("\u200b"), user("One")])
    assert contents(core) == ["One"]
    assert memory.events == {"ingest.failed": 1}
    assert memory._notes.waiting == []


async def test_of_a_very_long_turn_the_beginning_and_the_end_are_remembered(
    core: AgenticMemory,
) -> None:
    log = f"My log: {'it rained and ' * 20_000} and at last the sun shone."
    memory = memory_of(core, session_id="s1")
    block = AMemMemoryBlock(core, namespace="hobbes")
    for _ in range(2):
        memory.set([user(log), assistant("I read it.")])
        await block.aput([user(log)])
    assert memory.get_all()[0].content == log
    for who in ("calvin", "hobbes"):
        text = contents(core, who)[0]
        assert len(text) <= MAX_TURN
        assert text.startswith("My log: it rained")
        assert text.endswith("at last the sun shone.")
    assert contents(core)[1:] == ["I read it."]
    assert memory.events == {"ingest.shortened": 1}
    assert core.admin.health()["llama_index.ingest.shortened"] == 3


# -- a chat store, or a memory block of the caller, that fails -----------------------------------


def test_messages_that_the_chat_store_refused_are_remembered_once_when_given_again(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*args: Any, **kwargs: Any) -> None:
        raise OSError("database is locked")

    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(InProcessChatStore, "set_messages", locked)
        patch.setattr(InProcessChatStore, "add_messages", locked)
        with pytest.raises(OSError, match="locked"):
            memory.put(user("One"))
        with pytest.raises(OSError, match="locked"):
            memory.set([user("One"), assistant("Two")])
    memory.put(user("One"))
    memory.set([user("One"), assistant("Two")])
    notes = core.recent(namespace="calvin")[::-1]
    assert [(note.content, note.sequence) for note in notes] == [("One", 0), ("Two", 1)]


def test_a_block_of_the_caller_that_raises_takes_no_note_away(core: AgenticMemory) -> None:
    class Broken(BaseMemoryBlock[str]):
        async def _aget(self, messages: Any = None, **block_kwargs: Any) -> str:
            return ""

        async def _aput(self, messages: Any) -> None:
            raise RuntimeError("The block's own fault.")

    memory = memory_of(
        core, memory_blocks=[Broken(name="broken")], token_limit=60, token_flush_size=10
    )
    raised = 0
    for n in range(12):
        try:
            memory.put(user(f"Message number {n} with words"))
        except RuntimeError:
            raised += 1
    assert raised
    assert contents(core) == [message.content for message in memory.get_all()]
    assert len(contents(core)) == 12


# -- a model that fails --------------------------------------------------------------------------


@pytest.mark.parametrize("ingest", ["background", "await", "manual"])
def test_notes_that_a_failing_model_left_raw_are_formed_by_a_flush(ingest: Any) -> None:
    down, later = True, timedelta()

    def judge(*shown: Any) -> Any:
        if down:
            raise ConnectionError("down")
        return judgement(shown[0])

    settings: dict[str, Any] = {"formation": "off", "clock": lambda: datetime.now(UTC) + later}
    with open_memory(model=chat_model(judge), **settings) as core:
        memory = memory_of(core, ingest=ingest)
        memory.put(user(FACT))
        down = False
        later = timedelta(hours=2)
        assert memory.flush(20)
        assert core.recent(namespace="calvin")[0].status is Status.FORMED


def test_a_flush_keeps_to_its_time_though_the_model_is_slow() -> None:
    with open_memory(model=chat_model(latency=0.5), formation="off") as core:
        memory = memory_of(core, ingest="manual")
        memory.put_messages([user(f"Fact {n}") for n in range(8)])
        assert not memory.flush(0.2)
        assert Status.RAW in {note.status for note in core.recent(namespace="calvin")}
