"""Which messages were said, what was asked last, and how an utterance is known again."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)

from amem_integrations import AgenticMemory
from amem_integrations.llama_index.messages import (
    SPEAKERS,
    Session,
    Spoken,
    last_question,
    spoken_in,
)
from tests.llama_index.support import (
    SharingStore,
    assistant,
    contents,
    memory_of,
    system,
    user,
)

histories = st.lists(
    st.builds(Spoken, st.sampled_from(SPEAKERS), st.sampled_from(["ok", "yes", "Rex"])),
    max_size=12,
)
TRACE = (
    'Thought: I look it up.\nAction: weather\nAction Input: {"city": "Bern"}\n'
    "Observation: Answer: it rains, says the tool.\n"
    "Thought: I can answer.\nAnswer: It rains in Bern.\nTake a coat.\nAnswer: really."
)
THOUGHT = ChatMessage(
    role=MessageRole.ASSISTANT,
    blocks=[ThinkingBlock(content="Hm."), TextBlock(text="One"), TextBlock(text="Two")],
)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (user("A \ud83d dog \ud83d\ude00"), "A \ufffd dog \U0001f600"),
        (user("Thought: what if?"), "Thought: what if?"),
        (THOUGHT, "One\nTwo"),
        (assistant(TRACE), "It rains in Bern.\nTake a coat.\nAnswer: really."),
        (assistant("Thought: I wonder.\nAction: weather\nAction Input: {}"), None),
        (assistant("Observation: Rain."), None),
        (assistant("My thought: Answer: no."), "My thought: Answer: no."),
        (user("Result of executing the code given:\n\n42"), None),
        (
            user("The result of executing the code given was 42."),
            "The result of executing the code given was 42.",
        ),
        (assistant("I compute it.\n<execute>\nprint(6 * 7)\n</execute>"), None),
        (assistant("It is 42.\n<execute>\nprint(6 *"), "It is 42.\n"),
        (assistant("<execute>\nprint(6 *"), None),
        (user("Why does <execute>1</execute> fail?"), "Why does <execute>1</execute> fail?"),
    ],
)
def test_the_text_of_a_message_leaves_out_thoughts_and_traces(
    message: ChatMessage, text: str | None
) -> None:
    expected = [] if text is None else [Spoken(str(message.role.value), text)]
    assert spoken_in([message], SPEAKERS) == expected


def test_only_the_given_speakers_count() -> None:
    messages = [system("Be kind."), user("Hello"), assistant("Hi")]
    assert spoken_in(messages, SPEAKERS) == [Spoken("user", "Hello"), Spoken("assistant", "Hi")]
    assert spoken_in(messages, ["assistant"]) == [Spoken("assistant", "Hi")]


def test_the_last_question_is_the_users_whatever_came_after_it() -> None:
    messages = [user("One?"), user("Two?"), assistant("Hm"), ChatMessage(role="tool", content="3")]
    assert last_question(messages) == "Two?"
    assert last_question([*messages, user(" ")]) == "Two?"
    output = user("Result of executing the code given:\n\n42")
    assert last_question([*messages, output]) == "Two?"
    assert last_question([assistant("Hello")]) == last_question([]) == ""


# -- what a chat keeps of a message --------------------------------------------------------------

WHOLE = [
    ChatMessage(
        role=MessageRole.USER,
        blocks=[
            TextBlock(text="Look:"),
            ImageBlock(image=b"png", image_mimetype="image/png"),
            ImageBlock(url="http://example.com/dog.png", detail="low"),
            AudioBlock(audio=b"mp3", format="mp3"),
            VideoBlock(url="http://example.com/dog.mp4", video_mimetype="video/mp4"),
            DocumentBlock(data=b"pdf", title="dog.pdf", document_mimetype="application/pdf"),
            CachePoint(cache_control=CacheControl(type="ephemeral")),
        ],
        additional_kwargs={"name": "Calvin", "nested": {"a": [1, None, 2.5]}},
    ),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[
            ThinkingBlock(content="Hm.", additional_information={"signature": "s"}),
            ToolCallBlock(tool_call_id="c1", tool_name="look", tool_kwargs={"at": {"x": 1}}),
            ToolCallBlock(tool_call_id="c2", tool_name="look", tool_kwargs='{"at": 1}'),
        ],
    ),
    ChatMessage(role=MessageRole.TOOL, content="A dog.", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(
        role=MessageRole.ASSISTANT,
        blocks=[
            CitableBlock(title="Dogs", source="s", content=[TextBlock(text="Dogs bark.")]),
            CitationBlock(
                cited_content=TextBlock(text="Dogs bark."),
                source="s",
                title="Dogs",
                additional_location_info={"page": 3},
            ),
            TextBlock(text="It is a dog."),
        ],
    ),
]


@pytest.mark.parametrize("place", ["in the process", "in a file", "shared"])
def test_a_chat_keeps_every_block_of_its_messages(
    core: AgenticMemory, tmp_path: Path, place: str
) -> None:
    stores: dict[str, dict[str, Any]] = {
        "in the process": {},
        "in a file": {"async_database_uri": f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"},
        "shared": {"chat_store": SharingStore()},
    }
    memory = memory_of(core, **stores[place])
    memory.put_messages(WHOLE)
    assert memory.get_all() == WHOLE
    assert memory.get() == WHOLE
    assert contents(core) == ["Look:", "It is a dog."]
    if place != "shared":
        restored = type(memory).from_dict(json.loads(json.dumps(memory.to_dict())))
        assert restored.get_all() == WHOLE
    memory.set(WHOLE)
    assert memory.get_all() == WHOLE


# -- how an utterance is known again -------------------------------------------------------------


def keys(session: Session, history: list[Spoken]) -> list[str]:
    return [item["key"] for item, _ in session.add(history)]


@given(histories)
def test_each_utterance_has_a_key_of_its_own_and_the_same_one_each_time(
    history: list[Spoken],
) -> None:
    expected = keys(Session("s"), history)
    assert len(set(expected)) == len(history)
    assert keys(Session("s"), history) == expected
    assert not set(expected) & set(keys(Session("t"), history))


@given(histories, histories)
def test_put_one_by_one_or_set_as_a_whole_the_keys_are_the_same(
    before: list[Spoken], after: list[Spoken]
) -> None:
    one, whole = Session("s"), Session("s")
    first, second = keys(one, before), keys(one, after)
    assert [item["key"] for item, _ in whole.add_unknown(before)] == first
    assert [item["key"] for item, _ in whole.add_unknown(before + after)] == second
    assert whole.add_unknown(before + after) == []
    assert sorted(one.keys(after)) == sorted(second)
