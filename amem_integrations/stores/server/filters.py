"""Conditions in qdrant-client's own filter models, for a server and for local mode alike."""

import math
from typing import Any

from qdrant_client import models

from amem_integrations.core.filters import Condition, Range
from amem_integrations.stores.codec import INDEXES, Index
from amem_integrations.stores.filters.compile import Models


def to_filter(condition: Condition) -> models.Filter:
    """Return the filter that lets exactly the points through that meet the condition."""
    return _MODELS.compile(condition)


def _match(field: str, values: list[Any]) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=values))


def _range(condition: Range) -> models.FieldCondition:
    if INDEXES.get(condition.field) is Index.INTEGER:
        bounds = _integer_range(condition)
    else:
        bounds = models.Range(
            gt=condition.gt, gte=condition.gte, lt=condition.lt, lte=condition.lte
        )
    return models.FieldCondition(key=condition.field, range=bounds)


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


_MODELS = Models(models.Filter, lambda ids: models.HasIdCondition(has_id=list(ids)), _match, _range)
