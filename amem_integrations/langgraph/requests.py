"""LangGraph's operations as requests to a memory, each checked before any of them is carried out.

Nothing here waits for anything; `batch` carries the requests out.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias, cast

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    get_text_at_path,
    validate_op_namespace,
)

from amem_integrations.core import json_value
from amem_integrations.core.filters import Condition, both
from amem_integrations.core.namespace import Namespace, as_namespace
from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.langgraph.filters import to_note_filter
from amem_integrations.memory.items import LONGEST_TTL, address_id, item_note, value_of
from amem_integrations.recall.paging import Meets
from amem_integrations.stores.codec import under
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.filters.tree import Exists, Field, Filter, Negation, Or

Fields: TypeAlias = Sequence[str]
Now: TypeAlias = Callable[[], datetime]

_NO_VALUE = Negation(Exists(Field(("value",))))


@dataclass(frozen=True, slots=True)
class Get:
    id: str
    refresh: bool


@dataclass(frozen=True, slots=True)
class Search:
    """query: None to list the last changed first. meets: what `where` only approximates."""

    where: Condition
    query: str | None
    limit: int
    offset: int
    refresh: bool
    meets: Meets | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    where: Condition
    conditions: tuple[MatchCondition, ...]
    max_depth: int | None
    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class Requests:
    """Reads by their place among `count` operations; writes by id, the last one to a key."""

    count: int
    gets: dict[int, Get] = field(default_factory=dict[int, Get])
    searches: dict[int, Search] = field(default_factory=dict[int, Search])
    listings: dict[int, Listing] = field(default_factory=dict[int, Listing])
    puts: dict[str, Note] = field(default_factory=dict[str, Note])
    deleted: dict[str, Namespace] = field(default_factory=dict[str, Namespace])


def requests(ops: Iterable[Op], fields: Fields, now: Now) -> Requests:
    """What the operations ask for.

    Raises InvalidNamespaceError, InvalidFilterError or InvalidInputError for the first one
    that cannot be carried out.
    """
    listed = list(ops)
    wanted = Requests(len(listed))
    for place, op in enumerate(listed):
        match op:
            case PutOp():
                _put(wanted, op, fields, now)
            case GetOp():
                validate_op_namespace(op)
                address = namespace_of(op.namespace), str(op.key)
                wanted.gets[place] = Get(address_id(address), op.refresh_ttl)
            case SearchOp():
                wanted.searches[place] = _search(op)
            case ListNamespacesOp():
                wanted.listings[place] = _listing(op)
            case _:
                raise InvalidInputError(f"Unknown operation: {type(op).__name__}.")
    return wanted


def namespace_of(labels: Iterable[str], *, written: bool = False) -> Namespace:
    """The namespace, or prefix of one; InvalidNamespaceError for what no item can be kept under."""
    namespace = tuple(labels)
    if not namespace and not written:
        return namespace
    try:
        return as_namespace(namespace)
    except InvalidInputError as error:
        raise InvalidNamespaceError(str(error)) from error


def query_of(query: object) -> str | None:
    """The query, None for a blank one. Raises InvalidInputError for what cannot be embedded."""
    if query is None:
        return None
    if not isinstance(query, str):
        raise InvalidInputError(f"A query is text; got {type(query).__name__}.")
    return _storable(query).strip() or None


def check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidInputError(f"{name} is a whole number, 0 or more; got {count!r}.")


# -- writing ---------------------------------------------------------------------------------


def _put(wanted: Requests, op: PutOp, fields: Fields, now: Now) -> None:
    validate_op_namespace(op)
    namespace = namespace_of(op.namespace, written=op.value is not None)
    key = str(op.key)
    id = address_id((namespace, key))
    # A key that comes again is written last.
    wanted.puts.pop(id, None)
    wanted.deleted.pop(id, None)
    if op.value is None:
        wanted.deleted[id] = namespace
        return
    if not isinstance(op.value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"A value is a dict; got {type(op.value).__name__}.")
    value_json = json_value.dumps("value", dict(op.value))
    value = json_value.loads(value_json)
    texts = [text for path in _paths(op.index, fields) for text in get_text_at_path(value, path)]
    wanted.puts[id] = item_note(
        namespace, key, value_json, map(_storable, texts), now=now(), ttl=_ttl(op.ttl)
    )


def _paths(index: object, fields: Fields) -> Fields:
    if index is None:
        return fields
    if index is False:
        return ()
    if not isinstance(index, list | tuple) or not all(
        isinstance(path, str) for path in cast("list[Any]", index)
    ):
        raise InvalidInputError(f"index is False or a list of paths; got {index!r}.")
    return cast("list[str]", index)


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


def _storable(text: str) -> str:
    """The text without lone surrogates, which are no characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# -- reading ---------------------------------------------------------------------------------


def _search(op: SearchOp) -> Search:
    validate_op_namespace(op)
    check_counts(limit=op.limit, offset=op.offset)
    where: Condition = under(namespace_of(op.namespace_prefix))
    meets: Meets | None = None
    if op.filter:
        tree = filters.parse(to_note_filter(op.filter))
        # A note without a value is shown with its content as one, which no index knows.
        where = both(where, filters.compile(Or((tree, _NO_VALUE))).condition)
        meets = _meets(tree)
    return Search(where, query_of(op.query), op.limit, op.offset, op.refresh_ttl, meets)


def _meets(tree: Filter) -> Meets:
    return lambda note: filters.matches(tree, shown(note))


def shown(note: Note) -> Note:
    """The note with the value that a store shows of it."""
    if note.value_json is not None:
        return note
    return replace(note, value_json=json_value.dumps("value", value_of(note)))


def _listing(op: ListNamespacesOp) -> Listing:
    validate_op_namespace(op)
    check_counts(limit=op.limit, offset=op.offset)
    if op.max_depth is not None:
        check_counts(max_depth=op.max_depth)
    conditions = tuple(op.match_conditions or ())
    for condition in conditions:
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInputError(
                f"Namespaces are matched by prefix or suffix; got {condition.match_type!r}."
            )
    return Listing(under(_literal(conditions)), conditions, op.max_depth, op.limit, op.offset)


def _literal(conditions: Sequence[MatchCondition]) -> Namespace:
    """The longest prefix without a wildcard that a condition asks for."""
    found: Namespace = ()
    for condition in conditions:
        path = tuple(condition.path)
        if condition.match_type == "prefix":
            end = path.index("*") if "*" in path else len(path)
            found = max(found, path[:end], key=len)
    return found
