"""Conditions in the filter models of an engine: those of the embedded one, or of qdrant-client.

Both have the same models under other names. `Models` says which, and how an engine wants them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.filters import All, Condition, HasId, Match, Not, Range, Scalar
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.errors import InvalidFilterError
from amem_integrations.stores.checks import is_id

# A filter nested some hundred deep overflows the engine's stack and ends the process.
MAX_DEPTH = 64


@dataclass(frozen=True)
class Models:
    """The models of an engine.

    filter: takes must=, must_not= and should=; has_id: takes ids; match: a field and values of
    one type; range: a Range with at most one bound on each side.
    """

    filter: Callable[..., Any]
    has_id: Callable[[list[str]], Any]
    match: Callable[[str, list[Any]], Any]
    range: Callable[[Range], Any]

    def compile(self, condition: Condition) -> Any:
        """Return the filter that lets exactly the points through that meet the condition.

        Raises InvalidFilterError for values that the engine cannot compare with, and for a
        condition that is nested too deep.
        """
        _check_depth(condition)
        try:
            match condition:
                case All(parts):
                    return self._all(parts)
                case AnyOf(parts) if parts:
                    return self._part(condition)
                case _:
                    return self._all((condition,))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidFilterError(
                "A filter names a field or a value that cannot be stored: text must be valid "
                "Unicode and integers must fit 64 bits."
            ) from error

    def _all(self, parts: Sequence[Condition]) -> Any:
        # One flat filter: the embedded engine takes twice as long over a nested one.
        must = [self._part(part) for part in parts if not isinstance(part, Not)]
        must_not = [self._part(part.part) for part in parts if isinstance(part, Not)]
        return self.filter(must=must or None, must_not=must_not or None)

    def _part(self, condition: Condition) -> Any:
        match condition:
            case Match(field, values):
                return self._match(field, values)
            case Range():
                return self.range(_one_bound_a_side(condition))
            case HasId(ids):
                return self.has_id([id for id in ids if is_id(id)])
            case All(parts):
                return self._all(parts)
            case AnyOf(parts):
                # An empty `should` would match everything.
                some = [self._part(part) for part in parts]
                return self.filter(should=some) if some else self.has_id([])
            case Not(part):
                return self.filter(must_not=[self._part(part)])

    def _match(self, field: str, values: tuple[Scalar, ...]) -> Any:
        if any(isinstance(value, bool) for value in values):
            raise InvalidFilterError(f"{field} cannot be compared with true or false.")
        texts = [value for value in values if isinstance(value, str)]
        integers = [value for value in values if not isinstance(value, str)]
        conditions = [self.match(field, group) for group in (texts, integers) if group]
        if not conditions:
            return self.has_id([])
        return conditions[0] if len(conditions) == 1 else self.filter(should=conditions)


def _one_bound_a_side(condition: Range) -> Range:
    # Of two bounds on the same side the embedded engine would heed only one.
    gt, gte, lt, lte = condition.gt, condition.gte, condition.lt, condition.lte
    if gt is not None and gte is not None:
        gt, gte = (gt, None) if gt >= gte else (None, gte)
    if lt is not None and lte is not None:
        lt, lte = (lt, None) if lt <= lte else (None, lte)
    return replace(condition, gt=gt, gte=gte, lt=lt, lte=lte)


def _check_depth(condition: Condition) -> None:
    """Raise InvalidFilterError for a condition nested deeper than engines can take."""
    level: Sequence[Condition] = [condition]
    for _ in range(MAX_DEPTH):
        level = [part for parent in level for part in _parts(parent)]
        if not level:
            return
    raise InvalidFilterError(f"A filter is nested at most {MAX_DEPTH} levels deep. Flatten it.")


def _parts(condition: Condition) -> tuple[Condition, ...]:
    match condition:
        case All(parts) | AnyOf(parts):
            return parts
        case Not(part):
            return (part,)
        case _:
            return ()
