"""Images, audio, video and files in a message: counted in its note, and captioned on request.

The text of a message is remembered, with the captions that a captioner of the caller's gives.
Adapters read the messages and call `caption`; no bytes or address of an attachment is ever stored.
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
_MAX_NAME_CHARS = 200
# A caption must not look like the end of its own mark.
_BRACKETS = str.maketrans("[]", "()")

Kind: TypeAlias = Literal["image", "audio", "video", "file"]
KINDS: tuple[Kind, ...] = ("image", "audio", "video", "file")


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something in a message that is no text, as a captioner gets it.

    Attributes:
        kind: "image", "audio", "video" or "file".
        mime_type: such as "image/png", if known.
        data: the bytes, if the message has them or names a file; a URL is not fetched.
        url: the URL, if it has one.
        name: the name of the file, if known.

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
"""Describes an attachment in words; None for nothing. A function, or an async one."""


@dataclass(frozen=True, slots=True)
class Captioning:
    """A captioner with limits, for the `captioner` argument of adapters.

    Attributes:
        captioner: a function from `Attachment` to text or None, or an async one. In async code a
            plain function is called in a thread.
        timeout: seconds for the captions of one message. Late ones are left out; a plain function
            that hangs stays behind in a thread of its own.
        max_attachments: how many attachments of a message are captioned, the first ones.
        max_bytes: the largest attachment that is captioned.
        max_chars: the longest caption; the rest is cut off.

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
    """Return the `captioner` argument of an adapter with its limits."""
    if captioner is None or isinstance(captioner, Captioning):
        return captioner
    return Captioning(captioner)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Something that an adapter found in a message.

    open: makes the attachment, decoding or reading its bytes only then. It gets the most bytes that
        are wanted, and reads no more than one beyond them.
    """

    kind: Kind
    open: Callable[[int], Attachment]


Item: TypeAlias = dict[str, Any]
Utterance: TypeAlias = tuple[Item, Sequence[Enclosed]]
"""An item as `AgenticMemory.add_many` takes it, possibly without text, and what is enclosed."""


def kind_of(mime_type: str | None) -> Kind:
    """Return the kind of a MIME type; "file" if it is none of the others."""
    major = (mime_type or "").partition("/")[0]
    return major if major in KINDS else "file"


def decode_base64(text: str, max_bytes: int) -> bytes:
    """Decode base64; of more than `max_bytes`, only enough to show that.

    >>> decode_base64("aGVsbG8=", 10), decode_base64("aGVsbG8=", 1)
    (b'hello', b'hel')
    """
    return b64decode(f"{text[: 4 * (max_bytes // 3 + 1)]}===")


def decode_data_url(url: str, max_bytes: int) -> tuple[str, bytes]:
    """Return the MIME type and the bytes of a `data:` URL, cut as by `decode_base64`."""
    about, _, body = url.removeprefix("data:").partition(",")
    mime_type, *rest = about.split(";")
    if "base64" in rest:
        return mime_type, decode_base64(body, max_bytes)
    return mime_type, unquote_to_bytes(body[: 3 * (max_bytes + 1)])


def attachment_counts(enclosed: Iterable[Enclosed]) -> Item:
    """Return the metadata of an item that counts what is enclosed by kind; {} for nothing."""
    counts = Counter(part.kind for part in enclosed)
    return {"metadata": {"attachments": dict(counts)}} if counts else {}


async def caption(
    io: IO,
    count: Callable[[str], None],
    captioning: Captioning | None,
    utterances: Iterable[Utterance],
) -> list[Item]:
    """Return the items to remember, with marked captions at the end of their texts.

    An item without any text is left out, because nothing could find it. `count` is called for
    that and for each failure.
    """
    items: list[Item] = []
    for item, enclosed in utterances:
        if captioning is not None and enclosed:
            captions = await io.invoke(_Captions(captioning, count), enclosed)
            item = {**item, "content": "\n\n".join(filter(str.strip, (item["content"], *captions)))}
        if item["content"].strip():
            items.append(item)
        else:
            count("attachments.alone")
    return items


@dataclass(frozen=True)
class _Captions:
    """The captions of all that one message encloses, as a Runnable for `io.invoke`.

    The captioner runs in a context of its own: its model does not stream to the user of the run
    around it, nor show its input to the callbacks of that run.
    """

    captioning: Captioning
    count: Callable[[str], None]

    def invoke(self, input: Sequence[Enclosed]) -> list[str]:
        until = time.monotonic() + self.captioning.timeout
        captions: list[str] = []
        for enclosed in self._first(input):
            try:
                if (seconds := until - time.monotonic()) <= 0:
                    raise TimeoutError
                captions.append(self._within(seconds, enclosed))
            except Exception as error:
                self._fail(error)
        return captions

    async def ainvoke(self, input: Sequence[Enclosed]) -> list[str]:
        return await asyncio.gather(*(self._acaption(enclosed) for enclosed in self._first(input)))

    async def _acaption(self, enclosed: Enclosed) -> str:
        seconds = self.captioning.timeout
        try:
            if not is_async(self.captioning.captioner):
                return await asyncio.to_thread(self._within, seconds, enclosed)
            async with asyncio.timeout(seconds):
                return await asyncio.create_task(self._aask(enclosed), context=Context())
        except Exception as error:
            self._fail(error)
            return ""

    def _first(self, enclosed: Sequence[Enclosed]) -> Sequence[Enclosed]:
        for _ in enclosed[self.captioning.max_attachments :]:
            self.count("captions.left_out")
        return enclosed[: self.captioning.max_attachments]

    def _within(self, seconds: float, enclosed: Enclosed) -> str:
        return Context().run(within, seconds, partial(self._ask, enclosed), TimeoutError)

    def _ask(self, enclosed: Enclosed) -> str:
        if (attachment := self._open(enclosed)) is None:
            return ""
        answer = self.captioning.captioner(attachment)
        if inspect.isawaitable(answer):
            # No loop runs in the thread of `within`.
            answer = asyncio.run(_awaited(answer))
        return self._mark(attachment, answer)

    async def _aask(self, enclosed: Enclosed) -> str:
        if (attachment := await asyncio.to_thread(self._open, enclosed)) is None:
            return ""
        answer = cast("Awaitable[object]", self.captioning.captioner(attachment))
        return self._mark(attachment, await answer)

    def _open(self, enclosed: Enclosed) -> Attachment | None:
        attachment = enclosed.open(self.captioning.max_bytes)
        if len(attachment.data or b"") > self.captioning.max_bytes:
            self.count("captions.too_large")
            return None
        return attachment

    def _mark(self, attachment: Attachment, text: object) -> str:
        """Return the caption as it stands in a note; "" for none."""
        if text is None:
            return ""
        if not isinstance(text, str):
            raise TypeError(f"A captioner returns a text or None, not {type(text).__name__}.")
        text = clean_text(text, self.captioning.max_chars).translate(_BRACKETS)
        name = clean_text(attachment.name or "", _MAX_NAME_CHARS).translate(_BRACKETS)
        return f"[{attachment.kind}{name and ' '}{name}: {text}]" if text else ""

    def _fail(self, error: Exception) -> None:
        _LOG.warning("No caption (%s); the message is remembered.", type(error).__name__)
        _LOG.debug("Why.", exc_info=error)
        self.count("captions.failed")


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer
