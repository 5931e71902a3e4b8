"""AMemKeyValueStore: values under keys, for whatever in LangChain takes a `BaseStore`.

Caches of embeddings and the documents behind a multi-vector index are kept so. Nothing here is
indexed or understood; a store that is searched is `langgraph.AMemStore`.
"""

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, TypeVar

from langchain_core.stores import BaseStore

from amem_integrations.core import json_value
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, fixed_namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import address_id, item_note, value_of, write
from amem_integrations.memory.operations import NamespaceLike
from amem_integrations.memory.pipeline import Wiring
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import every_point, notes_by_id

V = TypeVar("V")

_BYTES = "base64"
_JSON = "json"


class AMemKeyValueStore(BaseStore[str, V]):
    r"""Bytes or JSON values by key, kept in one namespace of a memory, which is best its own.

    Values come back exactly, bytes as bytes and JSON as JSON has it. A note of the namespace that
    was not put here appears as its value, or as {"content": ...}.

    Args:
        memory: where they are kept.
        namespace: one label or several.

    Raises:
        InvalidInputError: a key or value cannot be kept; none of a call was written then.
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
        self._memory = memory
        self._namespace = fixed_namespace(namespace)

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        """The values under the keys, in their order; None where there is none."""
        return self._memory.perform(lambda _, io: _get(io, self._namespace, keys))

    async def amget(self, keys: Sequence[str]) -> list[V | None]:
        """`mget`, awaited."""
        return await self._memory.aperform(lambda _, io: _get(io, self._namespace, keys))

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Keep each value under its key; of several under one key, the last."""
        self._memory.perform(lambda wiring, io: _set(wiring, io, self._namespace, key_value_pairs))

    async def amset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """`mset`, awaited."""
        await self._memory.aperform(
            lambda wiring, io: _set(wiring, io, self._namespace, key_value_pairs)
        )

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete the keys with their values; those that are not there do not matter."""
        self._memory.perform(lambda wiring, io: _delete(wiring, io, self._namespace, keys))

    async def amdelete(self, keys: Sequence[str]) -> None:
        """`mdelete`, awaited."""
        await self._memory.aperform(lambda wiring, io: _delete(wiring, io, self._namespace, keys))

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The keys that start with `prefix`, or all of them."""
        yield from self._memory.perform(lambda _, io: _keys(io, self._namespace, prefix or ""))

    # What it overrides is typed as if it were no generator, and is one.
    async def ayield_keys(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, prefix: str | None = None
    ) -> AsyncIterator[str]:
        """`yield_keys`, awaited."""
        for key in await self._memory.aperform(
            lambda _, io: _keys(io, self._namespace, prefix or "")
        ):
            yield key


async def _get(io: IO, namespace: Namespace, keys: Sequence[str]) -> list[Any]:
    wanted = _ids(namespace, keys)
    notes = await notes_by_id(io, dict.fromkeys(wanted))
    return [_decoded(notes[id]) if id in notes else None for id in wanted]


async def _set(
    wiring: Wiring, io: IO, namespace: Namespace, pairs: Sequence[tuple[str, Any]]
) -> None:
    _ids(namespace, [key for key, _ in pairs])
    notes = {
        key: item_note(namespace, key, json_value.dumps("value", _encoded(value)), (), now=io.now())
        for key, value in pairs
    }
    if notes:
        await write(wiring, io, list(notes.values()), {}, "off")


async def _delete(wiring: Wiring, io: IO, namespace: Namespace, keys: Sequence[str]) -> None:
    deleted = dict.fromkeys(_ids(namespace, keys), namespace)
    held = await notes_by_id(io, deleted)
    await write(wiring, io, [], dict.fromkeys(held, namespace), wiring.formation)


async def _keys(io: IO, namespace: Namespace, prefix: str) -> list[str]:
    points = await every_point(io, within(namespace), fields=("key",))
    return [key for point in points if (key := str(point.payload["key"])).startswith(prefix)]


def _ids(namespace: Namespace, keys: Sequence[str]) -> list[str]:
    for key in keys:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"A key is a string; got {type(key).__name__}.")
    return [address_id((namespace, key)) for key in keys]


def _encoded(value: object) -> dict[str, object]:
    """The value in a wrapping that says which of the two kinds it is."""
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    return {_JSON: value}


def _decoded(note: Note) -> Any:
    value: Any = value_of(note)
    match value:
        case {"base64": str(text), **rest} if not rest:
            return b64decode(text)
        case {"json": found, **rest} if not rest:
            return found
        case _:
            return value
