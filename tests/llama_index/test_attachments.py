"""Pictures, sound and documents in LlamaIndex's messages: what is remembered of them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    AudioBlock,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    VideoBlock,
)
from llama_index.core.llms import ChatMessage, MessageRole

from amem_integrations import AgenticMemory, Attachment
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock
from amem_integrations.llama_index.messages import enclosed_in
from tests.llama_index.support import contents, memory_of

PNG = b"\x89PNG\r\n\x1a\n a picture"
OPEN_FILE = ImageBlock(image=io.BytesIO(PNG), image_mimetype="image/png")
BLOCKS: list[tuple[Any, Attachment]] = [
    (ImageBlock(image=PNG), Attachment("image", "image/png", PNG)),
    (OPEN_FILE, Attachment("image", "image/png", PNG)),
    (
        ImageBlock(url="https://example.org/a.png"),
        Attachment("image", "image/png", url="https://example.org/a.png"),
    ),
    (
        ImageBlock(url="data:image/gif;base64,R0lG", image_mimetype="image/gif"),
        Attachment("image", "image/gif", b"GIF"),
    ),
    (AudioBlock(audio=PNG, format="wav"), Attachment("audio", "audio/wav", PNG)),
    (
        VideoBlock(video=PNG, video_mimetype="video/mp4"),
        Attachment("video", "video/mp4", PNG),
    ),
    (
        DocumentBlock(data=PNG, title="Plan", document_mimetype="application/pdf"),
        Attachment("file", "application/pdf", PNG, name="Plan"),
    ),
    (
        CitableBlock(title="Letter", source="desk", content=[TextBlock(text="Dear all")]),
        Attachment("file", "text/plain", b"Dear all", name="Letter"),
    ),
]


def said(*blocks: Any) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, blocks=list(blocks))


def caption(attachment: Attachment) -> str:
    return f"a red boat, {len(attachment.data or b'')} bytes"


@pytest.mark.parametrize(("block", "attachment"), BLOCKS)
def test_every_kind_of_block_is_known(block: Any, attachment: Attachment) -> None:
    [found] = enclosed_in(said(TextBlock(text="Look"), ThinkingBlock(content="Hm"), block))
    assert (found.kind, found.open(1000)) == (attachment.kind, attachment)


def test_of_a_file_no_more_is_read_than_may_be_shown(tmp_path: Path) -> None:
    path = tmp_path / "boat.png"
    path.write_bytes(PNG)
    [found] = enclosed_in(said(ImageBlock(path=path)))
    assert found.open(4) == Attachment("image", "image/png", PNG[:5], name="boat.png")


def test_attachments_are_counted_and_a_message_without_text_is_no_note(core: AgenticMemory) -> None:
    chat = memory_of(core, ingest="manual")
    # LlamaIndex keeps no open file in a chat.
    kept = [block for block, _ in BLOCKS if block is not OPEN_FILE]
    chat.put(said(TextBlock(text="My boat"), *kept))
    chat.put(said(ImageBlock(image=PNG)))
    assert core.admin.health()["attachments.alone"] == 1
    [note] = core.recent(namespace="calvin")
    assert note.content == "My boat"
    assert note.metadata == {"attachments": {"image": 3, "audio": 1, "video": 1, "file": 2}}
    assert len("".join(core.admin.export("calvin"))) < 3000


def test_a_captioner_tells_what_a_picture_shows(core: AgenticMemory) -> None:
    chat = memory_of(core, ingest="manual", captioner=caption)
    chat.put(said(ImageBlock(image=PNG)))
    chat.put(said(TextBlock(text="Mine"), ImageBlock(image=PNG)))
    told = f"[image: a red boat, {len(PNG)} bytes]"
    assert contents(core) == [told, f"Mine\n\n{told}"]


async def test_a_memory_and_a_block_await_an_async_captioner(core: AgenticMemory) -> None:
    async def acaption(attachment: Attachment) -> str:
        return caption(attachment)

    settings: Any = {"ingest": "manual", "captioner": acaption}
    await memory_of(core, **settings).aput(said(TextBlock(text="Mine"), ImageBlock(image=PNG)))
    block = AMemMemoryBlock(core, namespace="calvin", **settings)
    await block.aput([said(TextBlock(text="Yours"), ImageBlock(image=PNG))])
    told = f"[image: a red boat, {len(PNG)} bytes]"
    assert contents(core) == [f"Mine\n\n{told}", f"Yours\n\n{told}"]


def test_the_same_picture_twice_is_two_notes_and_a_history_again_is_none(
    core: AgenticMemory,
) -> None:
    asked: list[Attachment] = []

    def count(attachment: Attachment) -> str:
        asked.append(attachment)
        return "a boat"

    chat = memory_of(core, ingest="manual", captioner=count)
    chat.put(said(ImageBlock(image=PNG)))
    chat.put(said(ImageBlock(image=PNG)))
    chat.set(chat.get_all())
    assert contents(core) == ["[image: a boat]"] * 2
    assert len(asked) == 2


def test_a_captioner_that_fails_fails_no_turn(core: AgenticMemory) -> None:
    def fail(attachment: Attachment) -> str:
        raise RuntimeError

    chat = memory_of(core, ingest="manual", captioner=fail)
    chat.put(said(TextBlock(text="My boat"), ImageBlock(image=PNG)))
    assert contents(core) == ["My boat"]
    assert core.admin.health()["captions.failed"] == 1


def test_a_text_waits_without_its_caption_when_the_memory_cannot_be_reached(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = memory_of(core, ingest="manual", captioner=caption)

    def gone(*_: Any, **__: Any) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(core, "perform", gone)
        chat.put(said(TextBlock(text="My boat"), ImageBlock(image=PNG)))
    [waiting] = chat.to_dict()["waiting"]
    assert (waiting["content"], waiting["metadata"]) == ("My boat", {"attachments": {"image": 1}})
    chat.put(said(TextBlock(text="My oars")))
    assert contents(core) == ["My boat", "My oars"]


def test_a_captioner_is_given_anew_to_a_memory_that_travelled(core: AgenticMemory) -> None:
    chat = memory_of(core, ingest="manual", captioner=caption)
    data = json.loads(json.dumps(chat.to_dict()))
    AMemMemory.from_dict(data, core=core, captioner=caption).put(said(ImageBlock(image=PNG)))
    assert contents(core) == [f"[image: a red boat, {len(PNG)} bytes]"]
