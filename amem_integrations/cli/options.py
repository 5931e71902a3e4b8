"""What the commands of `amem` have in common: their options, and how they open a memory."""

import json
import re
import shlex
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from amem_integrations.cli import render
from amem_integrations.cli.stranger import embedder_called
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note, as_utc, note_id
from amem_integrations.errors import (
    InvalidInputError,
    NoteNotFoundError,
    StoreMismatchError,
)
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.stores.open import is_there

FOUND = 3
"""Exit code of a command that did its work and found what should not be."""

Location = Annotated[
    str,
    typer.Option(
        "--location",
        "-l",
        envvar="AMEM_LOCATION",
        metavar="DIR|URL",
        help="The directory of the memory, or a Qdrant server.",
    ),
]
Collection = Annotated[
    str,
    typer.Option(
        envvar="AMEM_COLLECTION",
        metavar="NAME",
        help="Which of the memories that are kept there.",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        envvar="AMEM_NAMESPACE",
        metavar="LABEL",
        help='Whose memory; repeat it for several labels. Otherwise "default".',
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help='A fastembed model, or "multilingual". Otherwise the one that the memory '
        "was written with, and all-MiniLM-L6-v2 for a new one.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="PROVIDER:MODEL",
        help="The LLM that forms notes, such as openai:gpt-4o-mini. Otherwise statistics.",
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        envvar="AMEM_API_KEY",
        metavar="KEY",
        help="The server's key; better given in the environment.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_AGO = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def example(*lines: str) -> str:
    """The end of a command's help: how it is called. Its lines stay as they are."""
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", heading, *(f"  {line}" for line in lines)])


@contextmanager
def opened(
    location: str,
    *,
    collection: str = "amem",
    model: str | None = None,
    embedder: str | None,
    api_key: str | None,
    **settings: Any,
) -> Generator[AgenticMemory]:
    """A memory; without an embedder, with the one that it was written with.

    Where there is none one is made, and that is said: a mistyped path shall be seen.
    """
    new = not is_there(location, collection=collection, api_key=api_key)
    settings = {"collection": collection, "model": model, "api_key": api_key, **settings}
    try:
        memory = AgenticMemory(location, embedder=embedder, **settings)
    except StoreMismatchError as error:
        if embedder is not None or error.embedder is None or error.dimension is None:
            raise
        own = embedder_called(error.embedder, error.dimension)
        memory = AgenticMemory(location, embedder=own, **settings)
    with memory:
        if new:
            render.remarks().print(
                f"A new memory is made in {render.plain(location)}.", style="dim", soft_wrap=True
            )
        yield memory


@contextmanager
def existing(
    location: str,
    *,
    collection: str = "amem",
    model: str | None = None,
    embedder: str | None,
    api_key: str | None,
    **settings: Any,
) -> Generator[AgenticMemory]:
    """A memory that is there already: a mistyped path must not make a new one."""
    check_there(location, collection, api_key)
    with opened(
        location,
        collection=collection,
        model=model,
        embedder=embedder,
        api_key=api_key,
        **settings,
    ) as memory:
        yield memory


def able_to_form(memory: AgenticMemory) -> None:
    """Raises what keeps it from embedding, before every note is tried in vain."""
    memory.perform(lambda _, io: io.embed_query("a"))


def check_there(location: str, collection: str, api_key: str | None = None) -> None:
    """Raise InvalidInputError where there is no memory."""
    if not is_there(location, collection=collection, api_key=api_key):
        which = "" if collection == "amem" else f" called {collection!r}"
        raise InvalidInputError(
            f"There is no memory{which} at {location}; `amem add` makes one. Is --location right?"
        )


def labels_of(namespace: list[str] | None) -> tuple[str, ...]:
    return as_namespace(namespace) if namespace else DEFAULT


def empty(memory: AgenticMemory, namespace: Namespace) -> str:
    """That nothing is in `namespace`, and where to look instead."""
    held = memory.namespaces()
    said = f"There are no notes in namespace {'/'.join(namespace)}."
    apart = tuple(part for label in namespace for part in label.split("/"))
    if apart != namespace and apart in held:
        options = (part for label in apart for part in ("-n", label))
        return f"{said} Labels are given one by one: {shlex.join(options)}"
    return f"{said} `amem namespaces` lists those that have some." if held else said


def check_some(memory: AgenticMemory, namespace: Namespace) -> None:
    """Raise InvalidInputError where there is nothing to draw."""
    if not memory.count(namespace):
        raise InvalidInputError(empty(memory, namespace))


def conditions(text: str | None, option: str = "--filter") -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{option} is not JSON: {error}.") from error
    if not isinstance(asked, dict):
        raise InvalidInputError(f'{option} is a JSON object, such as {{"speaker": "Marta"}}.')
    return asked  # pyright: ignore[reportUnknownVariableType]


def moment(text: str, option: str, now: datetime | None = None) -> datetime:
    """The moment that `text` means: an ISO date or time, or how long before `now`."""
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return (now or datetime.now(UTC)) - int(ago[1]) * _UNITS[ago[2]]
        return as_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{option} is a date, a time, or how long ago, such as 2026-11-01, 2026-11-01T08:00Z, "
            f"24h, 7d or 2w; got {text!r}."
        ) from error


def own_id(memory: AgenticMemory, name: str, namespace: Namespace) -> str:
    """The id of the note of that id or key, though it was merged into another.

    Raises NoteNotFoundError.
    """
    # Of bytes that are no text no id can be made, and no note has them for its name.
    with suppress(UnicodeEncodeError):
        for id in (name, note_id(namespace, name)):
            if memory.get(id, namespace=namespace) is not None:
                return id
    raise NoteNotFoundError(
        f"There is no note {name!r} in namespace {'/'.join(namespace)}; `amem search` and "
        "`amem recent` show ids and keys, and --namespace chooses another."
    )


def named(memory: AgenticMemory, name: str, namespace: Namespace) -> Note:
    """The note of that id or key, or the one that it was merged into, as reading has it.

    Raises NoteNotFoundError.
    """
    note = memory.get(own_id(memory, name, namespace), namespace=namespace)
    if note is None:
        raise NoteNotFoundError(f"The note {name!r} was forgotten just now.")
    return note
