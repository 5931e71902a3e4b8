"""Settings of recall by name: what can be set, and which signals can be switched off.

Names come from `RecallOptions` itself, so that a signal added there is an ablation here.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.signals import SHARES, RecallOptions

__all__ = ["switches", "with_settings", "without"]

_NAMES = [field.name for field in fields(RecallOptions) if field.init]


def switches(options: RecallOptions) -> list[str]:
    """Return the settings that have an effect and can be switched off.

    Args:
        options: how a memory is searched.

    Examples:
        >>> from amem_integrations.evaluation.ablation import switches
        >>> from amem_integrations.recall.signals import DEFAULT_OPTIONS
        >>> switches(DEFAULT_OPTIONS)[:3]
        ['meaning', 'asked', 'words']
    """
    return [name for name in _NAMES if _switched_off(options, name) is not None]


def without(options: RecallOptions, name: str) -> RecallOptions:
    """Return `options` with one signal off.

    Args:
        options: how a memory is searched.
        name: one of `switches(options)`.

    Raises:
        InvalidInputError: there is no such switch.

    Examples:
        >>> from amem_integrations.evaluation.ablation import without
        >>> from amem_integrations.recall.signals import DEFAULT_OPTIONS
        >>> without(DEFAULT_OPTIONS, "words").words
        0.0
    """
    off = _switched_off(options, name) if name in _NAMES else None
    if off is None:
        raise InvalidInputError(
            f"There is no signal {name!r} to switch off; on and possible to switch off are "
            f"{', '.join(switches(options))}."
        )
    return off


def with_settings(options: RecallOptions, settings: Sequence[str]) -> RecallOptions:
    """Return `options` with each "name=value" set.

    Args:
        options: how a memory is searched.
        settings: such as "damping=0".

    Raises:
        InvalidInputError: a name is unknown, or a value of another type or out of range.

    Examples:
        >>> from amem_integrations.evaluation.ablation import with_settings
        >>> from amem_integrations.recall.signals import DEFAULT_OPTIONS
        >>> with_settings(DEFAULT_OPTIONS, ["damping=0", "fold_duplicates=false"]).damping
        0.0
    """
    types = get_type_hints(RecallOptions)
    changes: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or name not in _NAMES:
            raise InvalidInputError(
                f"{setting!r} sets nothing; write name=value with one of the names "
                f"{', '.join(_NAMES)}."
            )
        try:
            changes[name] = TypeAdapter[Any](types[name]).validate_strings(text)
        except ValidationError as error:
            kind = getattr(types[name], "__name__", str(types[name]))
            raise InvalidInputError(f"{name} is of type {kind}; got {text!r}.") from error
    return replace(options, **changes)


def _switched_off(options: RecallOptions, name: str) -> RecallOptions | None:
    """Return None if the setting is off already, is no number, or cannot be switched off."""
    value = getattr(options, name)
    if not isinstance(value, bool | int | float):
        return None
    off = 1.0 if name in SHARES else type(value)(0)
    try:
        return None if value == off else replace(options, **{name: off})
    except InvalidInputError:
        return None
