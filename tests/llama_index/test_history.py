"""How long a chat is, and what leaves it when it is full."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    AudioBlock,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import PrivateAttr

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.llama_index.chat_store import InProcessChatStore, open_chat_store
from amem_integrations.llama_index.history import count_overflow
from tests.llama_index.support import SharingStore, assistant, memory_of, system, user

IMAGE = ImageBlock(url="http://example.com/dog.png")
CALL = ToolCallBlock(tool_call_id="c1", tool_name="search", tool_kwargs={"query": "dogs " * 50})


def words(text: str) -> list[str]:
    return text.split()


def tool(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.TOOL, content=text)


def active(memory: AMemMemory) -> list[ChatMessage]:
    return memory.get_all(status=MessageStatus.ACTIVE)


# -- how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (TextBlock(text="one two"), 2),
        (ThinkingBlock(content="one two three"), 3),
        (ThinkingBlock(content=None), 0),
        (CALL, 51),
        (IMAGE, 7),
        (AudioBlock(url="http://example.com/dog.mp3"), 8),
        (VideoBlock(url="http://example.com/dog.mp4"), 9),
        (DocumentBlock(url="http://example.com/dog.pdf"), 10),
        (CitableBlock(title="t", source="s", content=[TextBlock(text="one two"), IMAGE]), 9),
        (
            CitationBlock(
                cited_content=TextBlock(text="one two"),
                source="s",
                title="t",
                additional_location_info={},
            ),
            2,
        ),
        (CachePoint(cache_control={"type": "ephemeral"}), 0),
    ],
)
def test_each_block_of_a_message_counts(
    core: AgenticMemory, block: ContentBlock, tokens: int
) -> None:
    memory = AMemMemory(
        core,
        tokenizer_fn=words,
        image_token_size_estimate=7,
        audio_token_size_estimate=8,
        video_token_size_estimate=9,
        document_token_size_estimate=10,
    )
    message = ChatMessage(role="assistant", blocks=[block])
    assert memory._estimate_token_count(message) == tokens
    assert memory._estimate_token_count([message, message]) == 2 * tokens
    assert memory._estimate_token_count([block]) == tokens
    message.additional_kwargs["cache"] = "yes"
    assert memory._estimate_token_count(message) == tokens + 2


# -- what leaves ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "sizes", "number"),
    [
        ("uaua", [10, 10, 10, 10], 0),  # it has room for 40
        ("uaua", [10, 10, 10, 20], 2),
        ("uauaua", [10, 10, 10, 10, 10, 10], 2),
        ("uauaua", [10, 10, 10, 10, 20, 20], 4),
        ("uaua", [10, 10, 10, 100], 2),  # the last turn stays
        ("ua", [100, 1], 0),
        ("u", [100], 0),
        ("uatau", [10, 10, 10, 20, 1], 4),  # a call stays with its answer
        ("uuuuu", [10, 10, 10, 10, 10], 1),
        ("auau", [10, 10, 20, 20], 3),
        ("uaxaua", [10, 10, 10, 10, 10, 10], 4),  # output of a program begins no turn
        ("", [], 0),
    ],
)
def test_the_oldest_turns_leave_until_there_is_room(
    roles: str, sizes: list[int], number: int
) -> None:
    of_role = {
        "u": user("Hello"),
        "a": assistant("Hi"),
        "t": tool("Rain"),
        "x": user("Result of executing the code given:\n\n42"),
    }
    assert count_overflow([of_role[role] for role in roles], sizes, 40, 5) == number


def test_many_tokens_leave_at_once() -> None:
    messages = [user(f"Message {n}") for n in range(10)]
    assert count_overflow(messages, [10] * 10, 99, 1) == 1
    assert count_overflow(messages, [10] * 10, 99, 50) == 5


def test_a_chat_of_tool_calls_does_not_grow_without_end(core: AgenticMemory) -> None:
    memory = memory_of(core, token_limit=200, token_flush_size=20, tokenizer_fn=words)
    for _ in range(10):
        memory.put_messages(
            [
                user("Where are dogs?"),
                ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Hm " * 30), CALL]),
                tool("Here."),
                assistant("Here."),
            ]
        )
    kept = active(memory)
    assert len(kept) == 4
    assert kept[0] == user("Where are dogs?")
    assert kept[1].blocks[1] == CALL
    assert len(memory.get_all()) == 40


@pytest.mark.parametrize("place", ["in the process", "in a file"])
def test_instructions_stay_when_the_chat_is_full(
    core: AgenticMemory, tmp_path: Path, place: str
) -> None:
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}" if place == "in a file" else None
    memory = memory_of(core, async_database_uri=uri, token_limit=60, token_flush_size=10)
    developer = ChatMessage(role=MessageRole.DEVELOPER, content="Be brief.")
    memory.put_messages([system("Be kind."), developer])
    for n in range(12):
        memory.put_messages([user(f"Topic {n} is here"), assistant("Fine.")])
    kept = active(memory)
    assert kept[:2] == [system("Be kind."), developer]
    assert kept[2].content != "Topic 0 is here"
    assert kept[2].role == "user"
    assert kept[-2:] == [user("Topic 11 is here"), assistant("Fine.")]
    assert len(memory.get_all()) == 26
    assert memory._estimate_token_count(kept) <= 60


def test_instructions_longer_than_the_chat_may_be_leave_the_last_turn(core: AgenticMemory) -> None:
    memory = memory_of(core, token_limit=60, token_flush_size=10)
    memory.put(system("Be kind. " * 40))
    for n in range(3):
        memory.put_messages([user(f"Topic {n} is here"), assistant("Fine.")])
    assert [message.content for message in active(memory)[1:]] == ["Topic 2 is here", "Fine."]


class Archive(BaseMemoryBlock[str]):
    """Keeps what it is given."""

    _given: list[ChatMessage] = PrivateAttr(default_factory=list)

    async def _aget(self, messages: Any = None, **block_kwargs: Any) -> str:
        return ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        self._given += messages


@pytest.mark.parametrize("store", [InProcessChatStore, SharingStore])
def test_blocks_of_the_caller_are_given_what_leaves_and_cannot_change_it(
    core: AgenticMemory, store: Any
) -> None:
    block = Archive(name="archive")
    memory = memory_of(
        core, memory_blocks=[block], chat_store=store(), token_limit=60, token_flush_size=10
    )
    for n in range(12):
        memory.put_messages([user(f"Topic {n} is here"), assistant("Fine.")])
    given = [message.content for message in block._given]
    assert given
    assert given == [message.content for message in memory.get_all()][: len(given)]
    # LlamaIndex's own blocks write the session into the message.
    assert block._given[0].additional_kwargs == {"session_id": memory.session_id}
    assert not any(message.additional_kwargs for message in memory.get_all())


class SlowStore(SharingStore):
    """Takes its time to archive, so that others put meanwhile."""

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        await asyncio.sleep(0.05)
        return await super().archive_oldest_messages(key, n)


@pytest.mark.parametrize("store", [SharingStore, SlowStore, open_chat_store])
def test_what_is_put_at_once_leaves_as_if_put_one_by_one(core: AgenticMemory, store: Any) -> None:
    async def put(*, at_once: bool) -> list[str | None]:
        memory = memory_of(core, chat_store=store(), token_limit=60, token_flush_size=5)
        puts = [memory.aput(user(f"Fact number {n} " + "word " * 8)) for n in range(12)]
        if at_once:
            await asyncio.gather(*puts)
        else:
            for step in puts:
                await step
        chat = await memory.aget_all(status=MessageStatus.ACTIVE)
        return [message.content for message in chat]

    expected = asyncio.run(put(at_once=False))
    assert 1 <= len(expected) < 6
    assert asyncio.run(put(at_once=True)) == expected
