"""AMemKeyValueStore: values under keys, for whatever in LangChain takes a `BaseStore`.

It suits caches of embeddings and the documents behind a multi-vector index. Values are neither
indexed nor formed; `langgraph.AMemStore` is the store that can be searched.
"""

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, TypeVar

from langchain_core.stores import BaseStore

from amem_integrations.core import json_value
from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import fixed_namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import address_id, item_note, value_of, write
from amem_integrations.memory.wiring import Adapter, NamespaceLike
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load_points, notes_by_id

V = TypeVar("V")


class AMemKeyValueStore(Adapter, BaseStore[str, V]):
    r"""Bytes or JSON values by key, in one namespace of a memory, preferably of their own.

    Values come back exactly, bytes as bytes and JSON as JSON has it. A note of the namespace that
    was not put here appears as its value, or as {"content": ...}.

    Args:
        memory: where they are kept.
        namespace: one label or several.

    Raises:
        InvalidInputError: a key or value cannot be kept; nothing of that call was written.
        StoreError: the store cannot be read or written.

    Examples:
        >>> from amem_integrations.langchain import AMemKeyValueStore
        >>> cache = AMemKeyValueStore(memory, namespace="embeddings")
        >>> cache.mset([("some text", b"\x00\x01"), ("another", {"n": 1})])
        >>> cache.mget(["some text", "another", "none"])
        [b'\x00\x01', {'n': 1}, None]
        >>> cache.mdelete(["another"])
        >>> list(cache.yield_keys())
        ['some text']
    """

    def __init__(self, memory: AgenticMemory, *, namespace: NamespaceLike = "key-value") -> None:
        super().__init__(memory)
        self._namespace = fixed_namespace(namespace)

    @sync_form
    async def mget(self, io: IO, keys: Sequence[str]) -> list[V | None]:
        """Return the values under the keys, in their order; None for a missing one."""
        ids = self._ids(keys)
        notes = await notes_by_id(io, dict.fromkeys(ids))
        return [_decode(notes[id]) if id in notes else None for id in ids]

    amget = async_form(mget)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def mset(self, io: IO, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Keep each value under its key; of several under one key, the last."""
        self._ids([key for key, _ in key_value_pairs])
        notes = {
            key: item_note(
                self._namespace, key, json_value.dumps("value", _encode(value)), (), now=io.now()
            )
            for key, value in key_value_pairs
        }
        if notes:
            await write(self._wiring, io, list(notes.values()), {}, "off")

    amset = async_form(mset)  # pyright: ignore[reportAssignmentType]

    @sync_form
    async def mdelete(self, io: IO, keys: Sequence[str]) -> None:
        """Delete the keys with their values; missing keys are ignored."""
        found = await notes_by_id(io, dict.fromkeys(self._ids(keys)))
        deleted = dict.fromkeys(found, self._namespace)
        await write(self._wiring, io, [], deleted, self._wiring.formation)

    amdelete = async_form(mdelete)  # pyright: ignore[reportAssignmentType]

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys that start with `prefix`, or all of them."""
        yield from self._keys(prefix or "")

    # What it overrides is typed as if it were no generator, and is one.
    async def ayield_keys(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, prefix: str | None = None
    ) -> AsyncIterator[str]:
        """`yield_keys`, awaited."""
        for key in await self._akeys(prefix or ""):
            yield key

    @sync_form
    async def _keys(self, io: IO, prefix: str) -> list[str]:
        points = await load_points(io, within(self._namespace), fields=("key",))
        keys = [str(point.payload["key"]) for point in points]
        return [key for key in keys if key.startswith(prefix)]

    _akeys = async_form(_keys)

    def _ids(self, keys: Sequence[str]) -> list[str]:
        for key in keys:
            if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidInputError(f"A key is a string; got {type(key).__name__}.")
        return [address_id((self._namespace, key)) for key in keys]


def _encode(value: object) -> dict[str, object]:
    """Wrap a value in an object that tells bytes from JSON."""
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    return {"json": value}


def _decode(note: Note) -> Any:
    value: Any = value_of(note)
    match value:
        case {"base64": str(text), **rest} if not rest:
            return b64decode(text)
        case {"json": found, **rest} if not rest:
            return found
        case _:
            return value
