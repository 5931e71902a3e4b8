"""Settings of recall by name: what can be set, and which signals can be switched off.

Read from `RecallOptions` itself, so that a signal added there is an ablation here.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.options import SHARES, RecallOptions

__all__ = ["switches", "with_settings", "without"]


def switches(options: RecallOptions) -> list[str]:
    """The settings that do something, and may do nothing.

    Args:
        options: how a memory is searched.

    Examples:
        >>> from amem_integrations.evaluation.ablation import switches
        >>> from amem_integrations.recall.options import DEFAULT_OPTIONS
        >>> switches(DEFAULT_OPTIONS)[:3]
        ['meaning', 'words', 'reply']
    """
    return [name for name in _values(options) if _off(options, name) is not None]


def without(options: RecallOptions, name: str) -> RecallOptions:
    """`options` with one signal off.

    Args:
        options: how a memory is searched.
        name: one of `switches(options)`.

    Raises:
        InvalidInputError: there is no such switch.

    Examples:
        >>> from amem_integrations.evaluation.ablation import without
        >>> from amem_integrations.recall.options import DEFAULT_OPTIONS
        >>> without(DEFAULT_OPTIONS, "words").words
        0.0
    """
    off = _off(options, name) if name in _values(options) else None
    if off is None:
        raise InvalidInputError(
            f"There is no signal {name!r} to switch off; on and possible to switch off are "
            f"{', '.join(switches(options))}."
        )
    return off


def with_settings(options: RecallOptions, settings: Sequence[str]) -> RecallOptions:
    """`options` with each "name=value" set; a value is JSON, or else a text.

    Args:
        options: how a memory is searched.
        settings: such as "damping=0".

    Raises:
        InvalidInputError: a name is unknown, a value of another type or out of range.

    Examples:
        >>> from amem_integrations.evaluation.ablation import with_settings
        >>> from amem_integrations.recall.options import DEFAULT_OPTIONS
        >>> with_settings(DEFAULT_OPTIONS, ["damping=0", "fold=false"]).damping
        0.0
    """
    values = _values(options)
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or name not in values:
            raise InvalidInputError(
                f"{setting!r} sets nothing; write name=value with one of the names "
                f"{', '.join(values)}."
            )
        changes[name] = _like(values[name], name, text)
    return replace(options, **changes)


def _values(options: RecallOptions) -> Mapping[str, Any]:
    return {field.name: getattr(options, field.name) for field in fields(options) if field.init}


def _off(options: RecallOptions, name: str) -> RecallOptions | None:
    value = _values(options)[name]
    if not isinstance(value, bool | int | float):
        return None
    off = 1.0 if name in SHARES else type(value)(0)
    if value == off:
        return None
    try:
        return replace(options, **{name: off})
    except InvalidInputError:
        return None


def _like(before: object, name: str, text: str) -> object:
    """The value that `text` means, of the type that the setting has."""
    try:
        value: object = json.loads(text)
    except ValueError:
        value = text
    if before is None or isinstance(before, float):
        # ".5" and "1" are numbers too, if not JSON's or not floats.
        with contextlib.suppress(ValueError):
            value = float(text)
    if before is not None and type(value) is not type(before):
        kind = type(before).__name__
        raise InvalidInputError(f"{name} is of type {kind}; got {text!r}.")
    return value
