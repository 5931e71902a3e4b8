"""Pictures, sound and files in LangChain's messages: what is remembered of them."""

from base64 import b64encode
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from amem_integrations import AgenticMemory, Attachment
from amem_integrations.langgraph import AMemMiddleware, create_memory_graph
from amem_integrations.langgraph.messages import read_content
from amem_integrations.testing import ScriptedChatModel

BYTES = b"\x89PNG a picture"
PNG = b64encode(BYTES).decode()
DATA_URL = f"data:image/png;base64,{PNG}"
PDF_URL = f"data:application/pdf;base64,{PNG}"
PICTURE = Attachment("image", "image/png", BYTES)
LINKED = Attachment("image", url="https://example.org/a.png")
BLOCKS: list[tuple[dict[str, Any], Attachment]] = [
    ({"type": "image", "base64": PNG, "mime_type": "image/png"}, PICTURE),
    ({"type": "image_url", "image_url": {"url": DATA_URL}}, PICTURE),
    ({"type": "image_url", "image_url": {"url": LINKED.url}}, LINKED),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        PICTURE,
    ),
    (
        {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
        Attachment("audio", "audio/wav", BYTES),
    ),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_URL}},
        Attachment("file", "application/pdf", BYTES, name="a.pdf"),
    ),
    (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PNG}},
        Attachment("file", data=BYTES, name="a.pdf"),
    ),
    (
        {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}},
        Attachment("video", url="https://example.org/a.mp4"),
    ),
    ({"type": "input_image", "image_url": DATA_URL}, PICTURE),
    ({"type": "image_url", "image_url": LINKED.url}, LINKED),
    ({"type": "file", "file_id": "file-1"}, Attachment("file")),
    (
        {"type": "media", "mime_type": "video/mp4", "data": PNG},
        Attachment("video", "video/mp4", BYTES),
    ),
    (
        {"type": "text-plain", "text": "Dear all", "mime_type": "text/plain", "title": "Letter"},
        Attachment("file", "text/plain", b"Dear all", name="Letter"),
    ),
    ({"type": "input_image", "image_url": LINKED.url}, LINKED),
]
NOTHING_ENCLOSED: list[dict[str, Any]] = [
    {"type": "reasoning", "reasoning": "secret thoughts"},
    {"type": "thinking", "thinking": "secret thoughts"},
    {"cachePoint": {"type": "default"}},
    {"type": "refusal", "refusal": "No."},
]


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tell(memory: AgenticMemory, *content: Any, **settings: Any) -> None:
    middleware = AMemMiddleware(memory, namespace="calvin", tools=False, **settings)
    chat = create_agent(ScriptedChatModel(["A boat."], after="repeat"), middleware=[middleware])
    chat.invoke({"messages": [HumanMessage(list(content))]})


def remembered(memory: AgenticMemory) -> dict[str, Any]:
    """The metadata of each note, by its text."""
    return {note.content: note.metadata for note in memory.recent(namespace="calvin")}


@pytest.mark.parametrize(("block", "attachment"), BLOCKS)
def test_every_form_of_a_block_is_known(block: dict[str, Any], attachment: Attachment) -> None:
    said, [found] = read_content(HumanMessage([text("Look"), block]))
    assert (said, found.kind, found.open(1000)) == ("Look", attachment.kind, attachment)


@pytest.mark.parametrize("kind", ["image", "audio", "video", "file"])
def test_a_block_that_says_nothing_of_itself_is_counted_all_the_same(kind: str) -> None:
    _, [found] = read_content(HumanMessage([{"type": kind}]))
    assert found.open(1000) == Attachment(found.kind)


def test_one_block_that_cannot_be_read_loses_none_of_the_others() -> None:
    broken = {"type": "non_standard"}
    said, found = read_content(HumanMessage([text("Look"), broken, BLOCKS[0][0]]))
    assert (said, [each.kind for each in found]) == ("Look", ["image"])


@pytest.mark.parametrize("block", NOTHING_ENCLOSED)
def test_what_is_neither_said_nor_enclosed_is_left_out(block: dict[str, Any]) -> None:
    assert read_content(AIMessage([text("Look"), block])) == ("Look", [])


def test_parts_of_a_text_stand_apart_where_something_was_between_them() -> None:
    said, _ = read_content(HumanMessage([text("Be"), text("fore"), BLOCKS[0][0], text("After")]))
    assert said == "Before\nAfter"


def test_attachments_are_counted_and_nothing_else_of_them_is_stored(
    raw_memory: AgenticMemory,
) -> None:
    alone = raw_memory.admin.health().get("attachments.alone", 0)
    blocks = [block for block, _ in BLOCKS]
    tell(raw_memory, text("My boat"), *blocks)
    # A picture alone is no note.
    tell(raw_memory, blocks[0])
    assert raw_memory.admin.health()["attachments.alone"] == alone + 1
    counts = {"image": 7, "audio": 1, "file": 4, "video": 2}
    assert remembered(raw_memory) == {"My boat": {"attachments": counts}, "A boat.": {}}
    stored = "".join(raw_memory.admin.export("calvin"))
    assert PNG not in stored
    assert "example.org" not in stored


def test_a_captioner_says_what_a_picture_shows_and_pictures_can_be_asked_for(
    raw_memory: AgenticMemory,
) -> None:
    def caption(attachment: Attachment) -> str:
        return f"a red boat, {attachment.mime_type}"

    tell(raw_memory, text("Look"), BLOCKS[0][0], captioner=caption)
    raw_memory.add("A boat without a picture", namespace="calvin")
    pictures = {"metadata.attachments.image": {"$gte": 1}}
    [hit] = raw_memory.search("boat", namespace="calvin", filter=pictures)
    assert hit.note.content == "Look\n\n[image: a red boat, image/png]"
    tell(raw_memory, text("My boat has sails"), BLOCKS[0][0], captioner=caption)
    assert any(each.startswith("My boat has sails\n\n[image") for each in remembered(raw_memory))


@pytest.mark.parametrize("waits", [False, True])
async def test_what_a_model_says_of_a_picture_is_not_streamed_to_the_user(
    raw_memory: AgenticMemory, waits: bool
) -> None:
    seer = ScriptedChatModel(["a red boat"], after="repeat")

    def caption(attachment: Attachment) -> str:
        return str(seer.invoke("?").text)

    async def acaption(attachment: Attachment) -> str:
        return str((await seer.ainvoke("?")).text)

    captioner = acaption if waits else caption
    middleware = AMemMiddleware(raw_memory, namespace="calvin", tools=False, captioner=captioner)
    chat = create_agent(ScriptedChatModel(["Nice."], after="repeat"), middleware=[middleware])
    asked: Any = {"messages": [HumanMessage([BLOCKS[0][0]])]}
    streamed = [part.text async for part, _ in chat.astream(asked, stream_mode="messages")]
    streamed += [part.text for part, _ in chat.stream(asked, stream_mode="messages")]
    assert "".join(streamed) == "Nice." * 2
    assert "[image: a red boat]" in remembered(raw_memory)


def test_a_captioner_that_fails_fails_no_turn(raw_memory: AgenticMemory) -> None:
    def fail(attachment: Attachment) -> str:
        raise RuntimeError

    tell(raw_memory, text("My boat"), BLOCKS[0][0], captioner=fail)
    assert "My boat" in remembered(raw_memory)
    assert raw_memory.admin.health()["captions.failed"] == 1


def test_a_picture_that_the_assistant_made_is_told(raw_memory: AgenticMemory) -> None:
    graph = create_memory_graph(
        raw_memory, namespace="calvin", captioner=lambda attachment: "a drawing of a boat"
    )
    drawn = AIMessage([{"type": "image", "base64": PNG, "mime_type": "image/png"}])
    graph.invoke({"messages": [HumanMessage("Draw my boat"), drawn]})
    [note] = [each for each in raw_memory.recent(namespace="calvin") if each.speaker == "assistant"]
    assert note.content == "[image: a drawing of a boat]"
