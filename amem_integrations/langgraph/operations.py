"""LangGraph's store operations, carried out on a memory.

All operations of a batch are checked before any is carried out. Reads come first and see the state
before the batch; of several writes to one key the last one counts.
"""

import json
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias, cast

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from amem_integrations.core import json_value
from amem_integrations.core.filters import Condition, both
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, as_namespace
from amem_integrations.core.note import Note
from amem_integrations.core.value_text import value_text
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import Formation
from amem_integrations.langgraph.filters import filter_tree
from amem_integrations.memory.items import LONGEST_TTL, address_id, item_note, value_of, write
from amem_integrations.memory.wiring import NamespaceLike, Wiring
from amem_integrations.recall.search import Meets, check_counts, nearest, newest, search
from amem_integrations.recall.signals import RecallOptions
from amem_integrations.revisions.forget import renew
from amem_integrations.stores.codec import under
from amem_integrations.stores.expiry import including_expired
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.read import namespaces, notes_by_id

Fields: TypeAlias = Sequence[str]
_Read: TypeAlias = Callable[[IO, dict[str, Note]], Coroutine[Any, Any, list[Any]]]

# Items with equal texts are different items.
_NO_FOLDING = RecallOptions(fold_duplicates=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """fields: the paths that are indexed unless a put says otherwise.

    omit_expired: whether expired items are hidden until they are swept.
    refresh: whether being recalled starts an item's time anew.
    periods: whether labels may have periods.
    """

    fields: Fields
    formation: Formation
    omit_expired: bool
    refresh: bool
    periods: bool

    def seen(self, io: IO) -> IO:
        """Return an io that reads what this store shows."""
        return io if self.omit_expired else including_expired(io)


async def run_batch(wiring: Wiring, io: IO, settings: Settings, ops: Iterable[Op]) -> list[Result]:
    """Return the results of the operations, in their order.

    Raises InvalidNamespaceError, InvalidFilterError or InvalidInputError, before any I/O, for the
    first operation that cannot be carried out.
    """
    gets: dict[int, tuple[str, bool]] = {}
    reads: dict[int, _Read] = {}
    puts: dict[str, Note] = {}
    deleted: dict[str, Namespace] = {}
    count = 0
    for place, op in enumerate(ops):
        check_periods(op, settings)
        count += 1
        match op:
            case GetOp():
                address = parse_namespace(op.namespace, prefix=True), str(op.key)
                gets[place] = address_id(address), op.refresh_ttl
            case SearchOp():
                reads[place] = _check_search(op)
            case ListNamespacesOp():
                reads[place] = _check_listing(op)
            case PutOp():
                namespace = parse_namespace(op.namespace, prefix=op.value is None)
                id = address_id((namespace, str(op.key)))
                # A key that comes again is written last.
                puts.pop(id, None)
                deleted.pop(id, None)
                if op.value is None:
                    deleted[id] = namespace
                else:
                    puts[id] = _item(op, namespace, settings, io.now())
            case _:
                raise InvalidInputError(f"Unknown operation: {type(op).__name__}.")
    results: list[Result] = [None] * count
    seen = settings.seen(io)
    refreshed: dict[str, Note] = {}
    notes = await notes_by_id(seen, {id for id, _ in gets.values()})
    for place, (id, refresh) in gets.items():
        note = notes.get(id)
        if note is not None:
            results[place] = Item(
                value=value_of(note),
                key=note.key,
                namespace=note.namespace,
                created_at=note.created_at,
                updated_at=note.updated_at,
            )
            if refresh:
                refreshed[id] = note
    found = await seen.gather(*(read(seen, refreshed) for read in reads.values()))
    for place, result in zip(reads, found, strict=True):
        results[place] = result
    await renew(io, refreshed.values())
    if puts or deleted:
        await write(wiring, io, list(puts.values()), deleted, settings.formation)
    return results


async def search_links(io: IO, settings: Settings, op: SearchOp, hops: int) -> list[SearchItem]:
    """Return the items of exactly one namespace that answer a query, links followed.

    Scores are those of `AgenticMemory.search`.
    """
    check_periods(op, settings)
    check_counts(limit=op.limit, offset=op.offset, hops=hops)
    namespace = parse_namespace(op.namespace_prefix)
    query = _query(op.query)
    if query is None:
        raise InvalidInputError("Following links needs a query; say what to look for.")
    hits = await search(
        settings.seen(io),
        query,
        namespace=namespace,
        k=op.offset + op.limit,
        hops=hops,
        filter=filter_tree(op.filter) if op.filter else None,
        options=_NO_FOLDING,
    )
    hits = hits[op.offset :]
    if op.refresh_ttl:
        await renew(io, [hit.note for hit in hits])
    return [_search_item(hit.note, hit.score) for hit in hits]


def check_periods(op: Op, settings: Settings) -> None:
    """Raise InvalidNamespaceError for what LangGraph refuses, unless periods are allowed."""
    if settings.periods:
        return
    try:
        validate_op_namespace(op)
    except InvalidNamespaceError as error:
        hint = " AMemStore(memory, periods=True) takes labels with periods."
        raise InvalidNamespaceError(f"{error}{hint if 'period' in str(error) else ''}") from error


def labels_of(namespace: NamespaceLike) -> Namespace:
    """Return the labels as an operation has them; a string is one label."""
    return (namespace,) if isinstance(namespace, str) else tuple(namespace)


def parse_namespace(labels: NamespaceLike, *, prefix: bool = False) -> Namespace:
    """Return the namespace; InvalidNamespaceError for one in which no item can be kept.

    prefix: whether it may be empty.
    """
    namespace = labels_of(labels)
    if prefix and not namespace:
        return namespace
    try:
        return as_namespace(namespace)
    except InvalidInputError as error:
        raise InvalidNamespaceError(str(error)) from error


# -- writing ---------------------------------------------------------------------------------


def _item(op: PutOp, namespace: Namespace, settings: Settings, now: datetime) -> Note:
    if not isinstance(op.value, Mapping):
        raise InvalidInputError(f"A value is a dict; got {type(op.value).__name__}.")
    value_json = json_value.dumps("value", dict(op.value))
    value = json_value.loads(value_json)
    paths = _paths(op.index, settings.fields)
    texts = [text for path in paths for text in _texts(value, path)]
    note = item_note(
        namespace, str(op.key), value_json, map(_clean, texts), now=now, ttl=_ttl(op.ttl)
    )
    return note if settings.refresh or note.ttl is None else replace(note, refresh_on_read=False)


def _paths(index: object, fields: Fields) -> Fields:
    if index is None:
        return fields
    if index is False:
        return ()
    paths = cast("list[Any]", index)
    if not isinstance(index, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise InvalidInputError(f"index is False or a list of paths; got {index!r}.")
    return paths


def _texts(value: Any, path: str) -> list[str]:
    """Return the texts under a path, objects and arrays as `value_text`."""
    if path in ("", "$"):
        return [value_text(value)]
    return [_readable(text) for text in get_text_at_path(value, path)]


def _readable(text: str) -> str:
    """Return what LangGraph made JSON of as text to read."""
    if not text.startswith(("{", "[")):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value_text(value) or text


def _ttl(minutes: object) -> timedelta | None:
    if minutes is None:
        return None
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or math.isnan(minutes):
        raise InvalidInputError(f"ttl is a number of minutes; got {minutes!r}.")
    longest = LONGEST_TTL / timedelta(minutes=1)
    if not 0 <= minutes <= longest:
        raise InvalidInputError(
            f"ttl lies between 0 and {longest:.0f} minutes; got {minutes}. None keeps an item "
            "for good."
        )
    return timedelta(minutes=minutes)


def _clean(text: str) -> str:
    """Replace lone surrogates, which are no characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# -- reading ---------------------------------------------------------------------------------


def _query(query: object) -> str | None:
    """Return the query, None for a blank one."""
    if query is None:
        return None
    if not isinstance(query, str):
        raise InvalidInputError(f"A query is text; got {type(query).__name__}.")
    return _clean(query).strip() or None


def _check_search(op: SearchOp) -> _Read:
    check_counts(limit=op.limit, offset=op.offset)
    where: Condition = under(parse_namespace(op.namespace_prefix, prefix=True))
    meets: Meets | None = None
    if op.filter:
        tree = filter_tree(op.filter)
        where = both(where, filters.compile(tree).condition)
        meets = partial(filters.matches, tree)
    return partial(_search, op, where, _query(op.query), meets)


async def _search(
    op: SearchOp,
    where: Condition,
    query: str | None,
    meets: Meets | None,
    io: IO,
    refreshed: dict[str, Note],
) -> list[SearchItem]:
    found: list[tuple[Note, float | None]]
    if query is None:
        notes = await newest(io, where, limit=op.limit, offset=op.offset, meets=meets)
        found = [(note, None) for note in notes]
    else:
        found = [*await nearest(io, query, where, limit=op.limit, offset=op.offset, meets=meets)]
    if op.refresh_ttl:
        refreshed.update((note.id, note) for note, _ in found)
    return [_search_item(note, score) for note, score in found]


def _search_item(note: Note, score: float | None) -> SearchItem:
    return SearchItem(
        note.namespace, note.key, value_of(note), note.created_at, note.updated_at, score
    )


def _check_listing(op: ListNamespacesOp) -> _Read:
    check_counts(limit=op.limit, offset=op.offset, max_depth=op.max_depth or 0)
    for condition in op.match_conditions or ():
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInputError(
                f"Namespaces are matched by prefix or suffix; got {condition.match_type!r}."
            )
        parse_namespace(condition.path, prefix=True)
    return partial(_list_namespaces, op)


async def _list_namespaces(
    op: ListNamespacesOp, io: IO, refreshed: dict[str, Note]
) -> list[Namespace]:
    conditions = op.match_conditions or ()
    where = under(_literal_prefix(conditions))
    found = {
        namespace[: op.max_depth]
        for namespace in await namespaces(io, where)
        if all(_matches(namespace, condition) for condition in conditions)
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def _literal_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """Return the longest prefix without a wildcard that a condition asks for."""
    longest: Namespace = ()
    for condition in conditions:
        path = tuple(condition.path)
        if condition.match_type == "prefix":
            end = path.index("*") if "*" in path else len(path)
            longest = max(longest, path[:end], key=len)
    return longest


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    labels = namespace[start : start + len(path)]
    return all(wanted in ("*", label) for wanted, label in zip(path, labels, strict=True))
