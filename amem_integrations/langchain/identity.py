"""Whose memory it is: the namespace of a run, from what the caller said about it.

Tools, the middleware and the graph share this. No argument of a model reaches it, and a run
that does not say who its user is gets no memory at all.
"""

import string
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast
from uuid import UUID

from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from amem_integrations.core.namespace import Namespace, as_namespace
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.operations import NamespaceLike

Identity: TypeAlias = NamespaceLike | Callable[[Runtime[Any]], NamespaceLike]
"""Labels, which may hold fields such as "{user_id}", or a function of LangGraph's Runtime."""


def namespace_resolver(identity: Identity) -> Callable[[], Namespace]:
    """A function that gives the namespace of the run in which it is called.

    A field is looked up in the run's context, then in config["configurable"]; braces that are
    meant as such are doubled. Raises InvalidInputError for labels that can be none; what is
    returned raises it when the run lacks a field.
    """
    if callable(identity):
        return lambda: _called(identity)
    labels = as_namespace(identity)
    templates = [_parsed(label) for label in labels]
    return lambda: as_namespace([_filled(template) for template in templates])


def thread_id() -> str | None:
    """The conversation that the run belongs to, if it has one."""
    thread = _configurable().get("thread_id")
    return None if thread is None else str(thread)


Template: TypeAlias = list[tuple[str, str | None]]


def _parsed(label: str) -> Template:
    """Literal texts, each with the field that follows it."""
    try:
        parts = list(string.Formatter().parse(label))
    except ValueError as error:
        raise InvalidInputError(
            f"The namespace label {label!r} has a brace without its pair. Double it if it is "
            "meant as such."
        ) from error
    for _, field, spec, conversion in parts:
        plain = field is None or (field.isidentifier() and not field.startswith("_"))
        if not plain or spec or conversion:
            raise InvalidInputError(
                f"The namespace label {label!r} has a field that is no plain name, as "
                '"{user_id}" has. Give a function of the runtime for anything else.'
            )
    return [(literal, field) for literal, field, _, _ in parts]


def _filled(template: Template) -> str:
    return "".join(
        literal + ("" if field is None else _value(field)) for literal, field in template
    )


def _value(field: str) -> str:
    value = _in_context(_runtime().context, field)
    if value is None:
        value = _configurable().get(field)
    if isinstance(value, bool) or not isinstance(value, str | int | UUID) or value == "":
        got = "nothing" if value is None or value == "" else f"a {type(value).__name__}"
        raise InvalidInputError(
            f"Whose memory this is, is not known: the namespace needs {field!r}, and the run has "
            f'{got} for it. Pass config={{"configurable": {{"{field}": ...}}}}, or a context '
            "that has it."
        )
    return str(value)


def _in_context(context: Any, field: str) -> Any:
    if isinstance(context, Mapping):
        return cast("Mapping[str, Any]", context).get(field)
    return getattr(context, field, None)


def _called(identity: Callable[[Runtime[Any]], NamespaceLike]) -> Namespace:
    try:
        labels = identity(_runtime())
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidInputError(
            "Whose memory this is, is not known: the namespace function failed with "
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
