"""Pictures, sound, films and files in a message: named in its note, and told in words if asked.

The text of a message is what is remembered. What else it holds is counted by kind in the note's
metadata; a captioner, if the caller gives one, says in words what it shows. Adapters find out what
a message holds and call `captioned`; no bytes and no address of an attachment are ever stored.
"""

import asyncio
import inspect
import logging
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote_to_bytes

from amem_integrations.core.io import IO
from amem_integrations.core.note import clean_text
from amem_integrations.embedders.dense import is_async
from amem_integrations.errors import InvalidInputError
from amem_integrations.llms.failures import within

_LOG = logging.getLogger(__name__)
_MOST_NAME_CHARS = 200
# What stands after the mark of a caption is the message's own.
_BRACKETS = str.maketrans("[]", "()")

Kind: TypeAlias = Literal["image", "audio", "video", "file"]
KINDS: tuple[Kind, ...] = ("image", "audio", "video", "file")


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something in a message that is no text, as a captioner is given it.

    Attributes:
        kind: "image", "audio", "video" or "file".
        mime_type: such as "image/png", if the message says.
        data: the bytes, if the message has them or names a file; an address is not fetched.
        url: the address, if it has one.
        name: of the file, if it has one.

    Examples:
        >>> from amem_integrations import Attachment
        >>> Attachment("image", "image/png", data=b"...")
        Attachment(kind='image', mime_type='image/png', url=None, name=None)
    """

    kind: Kind
    mime_type: str | None = None
    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    name: str | None = None


Captioner: TypeAlias = Callable[[Attachment], str | Awaitable[str | None] | None]
"""Says in words what an attachment shows; None for nothing. A function, or an async one."""


@dataclass(frozen=True, slots=True)
class Captioning:
    """A captioner with limits of one's own, for adapters' `captioner`.

    Attributes:
        captioner: a function from `Attachment` to text or None, or an async one. In async code a
            plain function is called in a thread.
        timeout: seconds that the captions of one message may take. What is not there by then is
            left out; a plain function that hangs stays behind in a thread of its own.
        max_attachments: how many of a message are shown to it, the first ones.
        max_bytes: how large an attachment may be, to be shown to it.
        max_chars: what is kept of a caption, at most.

    Raises:
        InvalidInputError: the captioner cannot be called, or a limit is not above 0.

    Examples:
        >>> from amem_integrations import Captioning
        >>> Captioning(lambda attachment: "a red boat", timeout=5).max_attachments
        8
    """

    captioner: Captioner
    timeout: float = 30.0
    max_attachments: int = 8
    max_bytes: int = 20 * 1024 * 1024
    max_chars: int = 4000

    def __post_init__(self) -> None:
        if not callable(self.captioner):
            raise InvalidInputError(
                "captioner is a function from an Attachment to a text or None; got "
                f"{type(self.captioner).__name__}."
            )
        for name in ("timeout", "max_attachments", "max_bytes", "max_chars"):
            if not getattr(self, name) > 0:
                raise InvalidInputError(f"{name} is above 0; got {getattr(self, name)!r}.")


def captioning_of(captioner: Captioner | Captioning | None) -> Captioning | None:
    """What adapters are given as `captioner`, checked."""
    if captioner is None or isinstance(captioner, Captioning):
        return captioner
    return Captioning(captioner)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """What an adapter found in a message.

    open: the attachment; its bytes are decoded, or read from a file, no sooner than that. It reads
        no more of a file than so many bytes and one.
    """

    kind: Kind
    open: Callable[[int], Attachment]


Item: TypeAlias = dict[str, Any]
Said: TypeAlias = tuple[Item, Sequence[Enclosed]]
"""An item as `AgenticMemory.add_many` takes it, whose text may be empty; and what is enclosed."""


def kind_of(mime_type: str | None) -> Kind:
    """The kind of something of that type; a file, if it is none of the others."""
    major = (mime_type or "").partition("/")[0]
    return major if major in KINDS else "file"


def decoded(text: str, most: int) -> bytes:
    """The bytes that base64 stands for; of more than `most`, no more than show that.

    >>> decoded("aGVsbG8=", 10), decoded("aGVsbG8=", 1)
    (b'hello', b'hel')
    """
    return b64decode(f"{text[: 4 * (most // 3 + 1)]}===")


def inlined(url: str, most: int) -> tuple[str, bytes]:
    """The type and the bytes of a `data:` address, of which no more as of `decoded`."""
    about, _, body = url.removeprefix("data:").partition(",")
    mime_type, *rest = about.split(";")
    if "base64" in rest:
        return mime_type, decoded(body, most)
    return mime_type, unquote_to_bytes(body[: 3 * (most + 1)])


def naming(enclosed: Iterable[Enclosed]) -> Item:
    """What to add to an item so that its metadata counts what is enclosed by kind; {} for nothing.

    >>> naming([])
    {}
    """
    counts = Counter(each.kind for each in enclosed)
    return {"metadata": {"attachments": dict(counts)}} if counts else {}


async def captioned(
    io: IO, count: Callable[[str], None], captioning: Captioning | None, said: Iterable[Said]
) -> list[Item]:
    """The items to be remembered, captions at the end of their texts, each marked as one.

    One that has no text even so says nothing that could be found; it is left out. That, and what
    could not be captioned, is counted.
    """
    items: list[Item] = []
    for item, enclosed in said:
        if captioning is not None and enclosed:
            captions = await io.invoke(_Asked(captioning, count), enclosed)
            item = {**item, "content": "\n\n".join(filter(str.strip, (item["content"], *captions)))}
        if item["content"].strip():
            items.append(item)
        else:
            count("attachments.alone")
    return items


@dataclass(frozen=True)
class _Asked:
    """The captioner, asked about all that one message encloses; in both forms, for `io.invoke`.

    It is asked in a context of its own, so that a model of its does not stream what it says to
    the user of the run around it, and shows no callbacks of that run what it sees.
    """

    captioning: Captioning
    count: Callable[[str], None]

    def invoke(self, input: Sequence[Enclosed]) -> list[str]:
        until = time.monotonic() + self.captioning.timeout
        captions: list[str] = []
        for each in self._shown(input):
            try:
                if (left := until - time.monotonic()) <= 0:
                    raise TimeoutError
                captions.append(self._within(left, each))
            except Exception as error:
                self._failed(error)
        return captions

    async def ainvoke(self, input: Sequence[Enclosed]) -> list[str]:
        return await asyncio.gather(*(self._acaption(each) for each in self._shown(input)))

    async def _acaption(self, enclosed: Enclosed) -> str:
        seconds = self.captioning.timeout
        try:
            if not is_async(self.captioning.captioner):
                return await asyncio.to_thread(self._within, seconds, enclosed)
            async with asyncio.timeout(seconds):
                return await asyncio.create_task(self._aask(enclosed), context=Context())
        except Exception as error:
            self._failed(error)
            return ""

    def _within(self, seconds: float, enclosed: Enclosed) -> str:
        return Context().run(within, seconds, partial(self._ask, enclosed), TimeoutError)

    async def _aask(self, enclosed: Enclosed) -> str:
        attachment = await asyncio.to_thread(self._opened, enclosed)
        if attachment is None:
            return ""
        answer = cast("Awaitable[object]", self.captioning.captioner(attachment))
        return self._told(attachment, await answer)

    def _shown(self, enclosed: Sequence[Enclosed]) -> Sequence[Enclosed]:
        for _ in enclosed[self.captioning.max_attachments :]:
            self.count("captions.left_out")
        return enclosed[: self.captioning.max_attachments]

    def _ask(self, enclosed: Enclosed) -> str:
        attachment = self._opened(enclosed)
        if attachment is None:
            return ""
        answer = self.captioning.captioner(attachment)
        if inspect.isawaitable(answer):
            # No loop runs in a thread of ours.
            answer = asyncio.run(_awaited(answer))
        return self._told(attachment, answer)

    def _opened(self, enclosed: Enclosed) -> Attachment | None:
        attachment = enclosed.open(self.captioning.max_bytes)
        if len(attachment.data or b"") > self.captioning.max_bytes:
            self.count("captions.too_large")
            return None
        return attachment

    def _told(self, attachment: Attachment, answer: object) -> str:
        """The caption as it stands in a note; "" for none."""
        if answer is None:
            return ""
        if not isinstance(answer, str):
            raise TypeError(f"A captioner returns a text or None, not {type(answer).__name__}.")
        text = clean_text(answer, self.captioning.max_chars).translate(_BRACKETS)
        name = clean_text(attachment.name or "", _MOST_NAME_CHARS).translate(_BRACKETS)
        return f"[{attachment.kind}{name and ' '}{name}: {text}]" if text else ""

    def _failed(self, error: Exception) -> None:
        _LOG.warning("No caption (%s); the message is remembered.", type(error).__name__)
        _LOG.debug("Why.", exc_info=error)
        self.count("captions.failed")


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer
