"""What goes wrong around a chat memory, and that nothing said is lost by it."""

import logging
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.memory import BaseMemoryBlock

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import StoreUnavailableError
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock
from amem_integrations.llama_index.chat_store import InProcessChatStore
from amem_integrations.testing import HashEmbedder
from tests.llama_index.support import ADD, assistant, contents, down, memory_of, user
from tests.support import chat_model, judgement, open_memory


class Picky(HashEmbedder):
    """Refuses a text as a provider refuses one that is too long; the others are fine."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("too long" in text for text in texts):
            raise ValueError("maximum context length exceeded")
        return super().embed_documents(texts)


# -- a message that cannot be stored -------------------------------------------------------------


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
        assert not memory.flush(10)


def test_a_memory_that_is_down_is_not_asked_for_each_message_that_waits(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def refuse(wiring: Any, io: Any, items: list[Any], *_: Any) -> Any:
        asked.append(len(items))
        raise StoreUnavailableError("down")

    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(ADD, refuse)
        for n in range(6):
            memory.put(user(f"Fact {n}"))
        assert asked == [1, 2, 3, 4, 5, 6]
        assert memory.events == {"ingest.failed": 6}
    memory.put(user("Fact 6"))
    assert contents(core) == [f"Fact {n}" for n in range(7)]


def test_models_that_are_down_are_not_asked_for_each_message_that_waits() -> None:
    asked: list[int] = []

    class Down(HashEmbedder):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            asked.append(len(texts))
            raise ConnectionError("down")

    with open_memory(embedder=Down(), formation="off") as core:
        asked.clear()
        memory = memory_of(core, ingest="manual")
        for n in range(6):
            memory.put(user(f"Fact {n}"))
        assert len(asked) <= 2 * 6
        assert memory.events == {"ingest.failed": 6}


def test_a_message_that_can_never_be_a_note_takes_no_other_with_it(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(ADD, down)
        memory.put(user("Waits"))
    memory._notes.waiting.append({"content": "Nobody", "key": "k" * 100_000})
    memory.put(user("Now"))
    assert sorted(contents(core)) == ["Now", "Waits"]
    assert memory._notes.waiting == []


@pytest.mark.parametrize("session", ["", " ", "s" * 5000, "\ud800"])
async def test_a_block_takes_notes_in_a_session_that_no_note_can_have(
    core: AgenticMemory, session: str
) -> None:
    block = AMemMemoryBlock(core, namespace="calvin")
    await block.aput([user("One"), user("Two")], session_id=session)
    assert contents(core) == ["One", "Two"]
    assert {note.session for note in core.recent(namespace="calvin")} == {None}
    assert block.events == {}


# -- a chat store, or a block of the caller's, that fails ----------------------------------------


def test_a_history_that_could_not_be_set_is_remembered_when_it_is_set_again(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*args: Any, **kwargs: Any) -> None:
        raise OSError("database is locked")

    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(InProcessChatStore, "set_messages", locked)
        with pytest.raises(OSError, match="locked"):
            memory.set([user("One"), assistant("Two")])
    memory.set([user("One"), assistant("Two")])
    assert contents(core) == ["One", "Two"]


def test_a_message_that_could_not_be_put_is_one_note_when_it_is_put_again(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(*args: Any, **kwargs: Any) -> None:
        raise OSError("database is locked")

    memory = memory_of(core)
    with monkeypatch.context() as patch:
        patch.setattr(InProcessChatStore, "add_messages", locked)
        with pytest.raises(OSError, match="locked"):
            memory.put(user("One"))
    memory.put(user("One"))
    (note,) = core.recent(namespace="calvin")
    assert note.sequence == 0


def test_a_block_of_the_callers_that_raises_takes_no_note_away(core: AgenticMemory) -> None:
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


# -- a model that fails, and a place that is gone ------------------------------------------------


@pytest.mark.parametrize("ingest", ["background", "await", "manual"])
def test_what_a_failing_model_left_raw_is_formed_after_a_flush(ingest: Any) -> None:
    down, later = True, timedelta()

    def judge(*shown: Any) -> Any:
        if down:
            raise ConnectionError("down")
        return judgement(shown[0])

    settings: dict[str, Any] = {"formation": "off", "clock": lambda: datetime.now(UTC) + later}
    with open_memory(model=chat_model(judge), **settings) as core:
        memory = memory_of(core, ingest=ingest)
        memory.put(user("My dog is called Rex."))
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


def test_a_place_that_is_gone_is_missed_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.embedders.test_llama_index import plain

    place = tmp_path / "notes"
    memory = AMemMemory.from_defaults(location=place, embed_model=plain(), namespace="calvin")
    memory.put(user("My dog is called Rex."))
    memory.close()
    data = memory.to_dict()
    shutil.rmtree(place)
    with caplog.at_level(logging.WARNING):
        restored = AMemMemory.from_dict(data, embed_model=plain())
        restored.put(user("My cat is called Mog."))
    assert f"{place} is gone" in caplog.text
    assert restored.events == {}
    restored.close()


# -- forgetting while someone reads --------------------------------------------------------------


def test_what_was_recalled_while_it_was_being_forgotten_is_not_shown_again(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.add("My dog is called Rex.", namespace="calvin")
    memory = memory_of(core)
    forget = core.admin.forget_namespace

    def read_first(namespace: Any) -> Any:
        assert memory.get(input="dog")
        return forget(namespace)

    monkeypatch.setattr(core.admin, "forget_namespace", read_first)
    memory.forget()
    assert memory.get(input="dog") == []
