"""The namespace of a run, from the labels or the function that the caller gave.

No argument of a model reaches it. A run that does not name its user gets no memory at all.
"""

import string
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast
from uuid import UUID

from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from amem_integrations.core.namespace import Namespace, as_namespace
from amem_integrations.core.values import is_blank
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.wiring import NamespaceLike

RunNamespace: TypeAlias = NamespaceLike | Callable[[Runtime[Any]], NamespaceLike]
"""Labels, which may have fields such as "{user_id}", or a function of LangGraph's Runtime."""


def namespace_resolver(namespace: RunNamespace) -> Callable[[], Namespace]:
    """Return a function that gives the namespace of the run in which it is called.

    A field is looked up in the run's context and, only if that has no such field, in
    config["configurable"]; double a brace that is no field. Raises InvalidInputError for invalid
    labels; the function raises it when the run lacks a field or leaves it blank.
    """
    if callable(namespace):
        return lambda: _call(namespace)
    labels = as_namespace(namespace)
    for label in labels:
        _check_template(label)
    return lambda: as_namespace([label.format_map(_RunFields()) for label in labels])


def thread_id() -> str | None:
    """Return the conversation that the run belongs to, if it has one."""
    thread = _configurable().get("thread_id")
    return None if thread is None else _as_text(thread) or str(thread)


def _check_template(label: str) -> None:
    try:
        parts = list(string.Formatter().parse(label))
    except ValueError as error:
        raise InvalidInputError(
            f"The namespace label {label!r} has a brace without its pair. Double a brace that is "
            "no field."
        ) from error
    for _, field, spec, conversion in parts:
        plain = field is None or (field.isidentifier() and not field.startswith("_"))
        if not plain or spec or conversion:
            raise InvalidInputError(
                f"The namespace label {label!r} has a field that is no plain name, as "
                '"{user_id}" has. Give a function of the runtime for anything else.'
            )


class _RunFields:
    """The fields of the run, by name, as `str.format_map` asks for them."""

    def __getitem__(self, field: str, /) -> str:
        context = _runtime().context
        if not isinstance(context, Mapping):
            context = {field: getattr(context, field)} if hasattr(context, field) else {}
        # What the context says of a field decides, even None: a client may set `configurable`.
        fields = cast("Mapping[str, Any]", context)
        value = fields[field] if field in fields else _configurable().get(field)
        text = _as_text(value)
        if text is None or is_blank(text):
            blank = value is None or text is not None
            got = "nothing" if blank else f"a {type(value).__name__}"
            raise InvalidInputError(
                f"The user is not known: the namespace needs {field!r}, and the run has {got} for "
                f'it. Pass config={{"configurable": {{"{field}": ...}}}}, or a context that has it.'
            )
        return text


def _as_text(value: object) -> str | None:
    """A name or number as text; None for what is neither."""
    match value:
        case bool():
            return None
        case str():
            # Of a member of an Enum, the value and not the name.
            return str.__str__(value)
        case int():
            try:
                return int.__repr__(value)
            except ValueError as error:
                raise InvalidInputError(
                    "The user or thread of the run is a number of thousands of digits."
                ) from error
        case UUID():
            return str(value)
        case _:
            return None


def _call(namespace: Callable[[Runtime[Any]], NamespaceLike]) -> Namespace:
    try:
        labels = namespace(_runtime())
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidInputError(
            "The user is not known: the namespace function failed with "
            f"{type(error).__name__}: {error}. Does the run have the context it reads?"
        ) from error
    return as_namespace(labels)


def _configurable() -> Mapping[str, Any]:
    try:
        return get_config().get("configurable", {})
    except RuntimeError:
        # Outside of any run.
        return {}


def _runtime() -> Runtime[Any]:
    try:
        runtime = cast("Runtime[Any] | None", get_runtime())
    except (RuntimeError, KeyError):
        # A tool that is called outside a graph has no runtime.
        runtime = None
    return Runtime() if runtime is None else runtime
