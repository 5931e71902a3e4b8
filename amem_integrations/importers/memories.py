"""Exports of other memories: mem0, and stores of LangGraph, such as LangMem's."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from amem_integrations.core.value_text import value_text
from amem_integrations.importers.archive import Archive
from amem_integrations.importers.assistants import json_values
from amem_integrations.importers.items import Entry, Item, dated, moment, read_each

_ABOUT = ("user_id", "agent_id", "run_id", "app_id", "categories")


def read_mem0(archive: Archive) -> Iterator[Entry]:
    """The memories of mem0, as its API and its exports list them."""
    yield from _in_time(archive, _mem0_memory)


def read_store(archive: Archive) -> Iterator[Entry]:
    """The items of a LangGraph store: namespace, key and value; LangMem keeps memories so."""
    yield from _in_time(archive, _store_item)


def _in_time(archive: Archive, read: Callable[..., Entry]) -> Iterator[Entry]:
    for name in archive.names:
        # Lists of memories begin with the newest.
        values = sorted(json_values(archive, name), key=_time)
        memory = partial(read, changed_at=archive.changed_at(name))
        yield from read_each(values, memory, f"{name}, memory")


def _time(value: Any) -> float:
    try:
        return dated(moment(value["created_at"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return dated(None)


def _checked(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


def _mem0_memory(value: Any, changed_at: datetime) -> Entry:
    given = _checked(value)
    about = {name: given[name] for name in _ABOUT if given.get(name)}
    return Item(
        content=given.get("memory") or given["text"],
        key=f"mem0/{given['id']}",
        occurred_at=moment(given.get("created_at")),
        changed_at=changed_at,
        metadata={**(given.get("metadata") or {}), **about},
    )


def _store_item(value: Any, changed_at: datetime) -> Entry:
    given = _checked(value)
    namespace = given["namespace"]
    labels = namespace.split(".") if isinstance(namespace, str) else list(map(str, namespace))
    return Item(
        content=value_text(given["value"]),
        key=f"store/{'/'.join(labels)}/{given['key']}",
        occurred_at=moment(given.get("created_at") or given.get("updated_at")),
        changed_at=changed_at,
        metadata={"namespace": labels, "key": str(given["key"])},
    )
