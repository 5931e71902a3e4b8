"""Carrying out LangGraph's operations on a memory, as operations over io.

Of a batch, reads come first and see what was there before it; of several writes to one key
the last one counts. `requests` has checked everything by then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    Item,
    MatchCondition,
    Op,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from amem_integrations.core.filters import Condition, both
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.langgraph.filters import to_note_filter
from amem_integrations.langgraph.requests import (
    Fields,
    Get,
    Listing,
    Search,
    check_counts,
    namespace_of,
    query_of,
    requests,
)
from amem_integrations.memory.items import value_of, write
from amem_integrations.memory.pipeline import Formation, Wiring
from amem_integrations.recall.options import RecallOptions
from amem_integrations.recall.paging import nearest, newest
from amem_integrations.recall.search import search
from amem_integrations.revisions.forget import is_expired, not_expired, renew
from amem_integrations.stores.read import namespaces, notes_by_id


@dataclass(frozen=True, slots=True)
class Settings:
    """fields: the paths that are indexed unless a put says otherwise.

    omit_expired: whether items that are past their time are hidden until they are swept.
    """

    fields: Fields
    formation: Formation
    omit_expired: bool


# Items are told apart by their keys, whatever they say.
_EACH_ITEM = RecallOptions(fold=False)


async def carry_out(wiring: Wiring, io: IO, settings: Settings, ops: Iterable[Op]) -> list[Result]:
    """The operations' results, in their order."""
    wanted = requests(ops, settings.fields, io.now)
    now = io.now() if settings.omit_expired else None
    results: list[Result] = [None] * wanted.count
    read = await _get(io, wanted.gets, now, results)
    found = await io.gather(
        *(_search(io, each, now, read) for each in wanted.searches.values()),
        *(_list(io, each, now) for each in wanted.listings.values()),
    )
    for place, result in zip((*wanted.searches, *wanted.listings), found, strict=True):
        results[place] = result
    await renew(io, read.values())
    if wanted.puts or wanted.deleted:
        puts = list(wanted.puts.values())
        await write(wiring, io, puts, wanted.deleted, settings.formation)
    return results


async def search_links(io: IO, settings: Settings, asked: SearchOp, hops: int) -> list[SearchItem]:
    """The items of exactly one namespace that answer a query, links followed.

    Scores are those of `recall.search`: meaning, words and links, within one search.
    """
    validate_op_namespace(asked)
    check_counts(limit=asked.limit, offset=asked.offset, hops=hops)
    namespace = namespace_of(asked.namespace_prefix, written=True)
    query = query_of(asked.query)
    if query is None:
        raise InvalidInputError("Following links needs a query; say what to look for.")
    hits = await search(
        io,
        query,
        namespace=namespace,
        k=asked.offset + asked.limit,
        hops=hops,
        filter=to_note_filter(asked.filter) if asked.filter else None,
        options=_EACH_ITEM,
    )
    now = io.now()
    found = [hit for hit in hits if not settings.omit_expired or not is_expired(hit.note, now)][
        asked.offset :
    ]
    if asked.refresh_ttl:
        await renew(io, [hit.note for hit in found])
    return [_found(hit.note, hit.score) for hit in found]


async def _get(
    io: IO, gets: Mapping[int, Get], now: datetime | None, results: list[Result]
) -> dict[str, Note]:
    """Puts the items in their places; returns the notes whose time is to start anew."""
    notes = await notes_by_id(io, {get.id for get in gets.values()})
    read: dict[str, Note] = {}
    for place, get in gets.items():
        note = notes.get(get.id)
        if note is not None and (now is None or not is_expired(note, now)):
            results[place] = Item(
                value=value_of(note),
                key=note.key,
                namespace=note.namespace,
                created_at=note.created_at,
                updated_at=note.updated_at,
            )
            if get.refresh:
                read[note.id] = note
    return read


async def _search(
    io: IO, asked: Search, now: datetime | None, read: dict[str, Note]
) -> list[SearchItem]:
    where = _shown(asked.where, now)
    place: dict[str, Any] = {"limit": asked.limit, "offset": asked.offset, "meets": asked.meets}
    found: list[tuple[Note, float | None]]
    if asked.query is None:
        found = [(note, None) for note in await newest(io, where, **place)]
    else:
        found = [*await nearest(io, asked.query, where, **place)]
    if asked.refresh:
        read.update((note.id, note) for note, _ in found)
    return [_found(note, score) for note, score in found]


async def _list(io: IO, asked: Listing, now: datetime | None) -> list[Namespace]:
    found = {
        namespace[: asked.max_depth]
        for namespace in await namespaces(io, _shown(asked.where, now))
        if all(_matches(namespace, condition) for condition in asked.conditions)
    }
    return sorted(found)[asked.offset : asked.offset + asked.limit]


def _shown(where: Condition, now: datetime | None) -> Condition:
    return where if now is None else both(where, not_expired(now))


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    at = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    labels = namespace[at : at + len(path)]
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))


def _found(note: Note, score: float | None) -> SearchItem:
    return SearchItem(
        note.namespace, note.key, value_of(note), note.created_at, note.updated_at, score
    )
