"""Conditions in qdrant-client's own filter models, for a server and for local mode alike."""

import math

from qdrant_client import models

from amem_integrations.core.filters import All, Condition, HasId, Match, Not, Range
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.stores.checks import is_id
from amem_integrations.stores.codec import INDEXES, Index


def to_filter(condition: Condition) -> models.Filter:
    """The filter that lets exactly the points through that meet the condition."""
    match condition:
        case All(parts):
            return models.Filter(must=[_inner(part) for part in parts]) if parts else everything()
        case AnyOf(parts):
            # No alternatives would mean no constraint to the engine.
            return models.Filter(should=[_inner(part) for part in parts]) if parts else nothing()
        case Not(part):
            return models.Filter(must_not=[_inner(part)])
        case Match(_, values) if not values:
            return nothing()
        case _:
            return models.Filter(must=[_inner(condition)])


def everything() -> models.Filter:
    return models.Filter()


def nothing() -> models.Filter:
    return models.Filter(must=[models.HasIdCondition(has_id=[])])


def _inner(condition: Condition) -> models.Condition:
    match condition:
        case HasId(ids):
            return models.HasIdCondition(has_id=[id for id in ids if is_id(id)])
        case Match(field, values) if values:
            return _match(field, values)
        case Range():
            return models.FieldCondition(key=condition.field, range=_range(condition))
        case _:
            return to_filter(condition)


def _match(field: str, values: tuple[str | int | bool, ...]) -> models.Condition:
    texts = [value for value in values if isinstance(value, str)]
    flags = [value for value in values if isinstance(value, bool)]
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    ways: list[models.Match] = [models.MatchAny(any=some) for some in (texts, numbers) if some]
    ways += [models.MatchValue(value=flag) for flag in flags]
    conditions: list[models.Condition] = [
        models.FieldCondition(key=field, match=way) for way in ways
    ]
    return conditions[0] if len(conditions) == 1 else models.Filter(should=conditions)


def _range(condition: Range) -> models.Range:
    if INDEXES.get(condition.field) is Index.INTEGER:
        return _integer_range(condition)
    return models.Range(gt=condition.gt, gte=condition.gte, lt=condition.lt, lte=condition.lte)


def _integer_range(condition: Range) -> models.Range:
    """Bounds half-way between whole numbers.

    A server is told floats, parses them to within a half, and cuts off the fraction (towards
    zero) to look an integer up; each of these means the same after all that.
    """
    bounds: dict[str, float] = {}
    if condition.gt is not None or condition.gte is not None:
        lowest = max(
            -(2**63) if condition.gt is None else math.floor(condition.gt) + 1,
            -(2**63) if condition.gte is None else math.ceil(condition.gte),
        )
        bounds["gt" if lowest > 0 else "gte"] = lowest - 0.5
    if condition.lt is not None or condition.lte is not None:
        highest = min(
            2**63 if condition.lt is None else math.ceil(condition.lt) - 1,
            2**63 if condition.lte is None else math.floor(condition.lte),
        )
        bounds["lte" if highest >= 0 else "lt"] = highest + 0.5
    return models.Range(**bounds)
