"""The options that commands share, how commands are registered, and how a memory is opened."""

import functools
import inspect
import re
import shlex
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from amem_integrations.cli import terminal
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Note, as_aware, note_id
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.embedder import NamedEmbedder, embedder_of
from amem_integrations.errors import (
    InvalidInputError,
    ModelUnavailableError,
    NoteNotFoundError,
    StoreLockedError,
    StoreMismatchError,
)
from amem_integrations.formation.state import Mode
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.wiring import Wiring
from amem_integrations.stores.checks import address_of
from amem_integrations.stores.codec import within
from amem_integrations.stores.open import is_there
from amem_integrations.stores.read import load_points

FOUND = 3
"""Exit code of a command that did its work and found what should not be."""


def labels_option(help: str, envvar: str | None = None) -> Any:
    """The option --namespace; repeated, it gives several labels."""
    return typer.Option("--namespace", "-n", metavar="LABEL", envvar=envvar, help=help)


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
    labels_option(
        'Whose memory; repeat it for several labels. Otherwise "default".', "AMEM_NAMESPACE"
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
ModeOption = Annotated[
    Mode, typer.Option("--mode", help="How a model judges notes; auto for small ones.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NoteName = Annotated[
    str, typer.Argument(metavar="NOTE", help="Its id, how that begins, or its key.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

# In the order in which help lists them; a command's own options stand after the namespace.
_SHARED: dict[str, tuple[Any, Any]] = {
    "location": (Location, inspect.Parameter.empty),
    "namespace": (Labels, None),
    "model": (Model, None),
    "as_json": (Json, False),
    "embedder": (Embedder, None),
    "collection": (Collection, "amem"),
    "api_key": (ApiKey, None),
}
PLACE = ("location", "as_json", "collection", "api_key")
MEMORY = (*PLACE, "embedder")
NAMESPACE = ("namespace", *MEMORY)
FORMING = ("model", *NAMESPACE)

_BEGINNING = re.compile(r"[0-9a-fA-F-]{8,35}")
_AGO = re.compile(r"(\d{1,6})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True, slots=True)
class Target:
    """The memory that a command works on, as the shared options name it."""

    location: str
    namespace: Namespace = DEFAULT
    model: str | None = None
    embedder: Any = None
    collection: str = "amem"
    api_key: str | None = None

    @property
    def home(self) -> str:
        """The namespace as a terminal shows it."""
        return terminal.plain("/".join(self.namespace))

    def check_exists(self) -> None:
        """Raise InvalidInputError if there is no memory."""
        if not self._exists():
            which = "" if self.collection == "amem" else f" called {self.collection!r}"
            raise InvalidInputError(
                f"There is no memory{which} at {address_of(self.location)}; `amem add` makes one. "
                "Is --location right?"
            )

    @contextmanager
    def open(self, *, create: bool = False, **settings: Any) -> Generator[AgenticMemory]:
        """Open the memory, by default with the embedder that it was written with.

        create: make a memory if there is none, and say so; otherwise this raises
            InvalidInputError, so that a mistyped path makes nothing.
        """
        if not create:
            self.check_exists()
        new = create and not self._exists()
        with self._opened(self.location, settings) as memory:
            if new:
                where = terminal.plain(address_of(self.location))
                terminal.print_remark(f"A new memory is made in {where}.")
            yield memory

    @contextmanager
    def read(self) -> Generator[AgenticMemory]:
        """Open the memory to read from it; changes may be lost.

        Where another process has the directory open, this reads a copy of the moment, says so,
        and removes the copy at the end.
        """
        self.check_exists()
        with ExitStack() as stack:
            try:
                memory = stack.enter_context(self._opened(self.location, {}))
            except StoreLockedError:
                location = stack.enter_context(self._copy())
                memory = stack.enter_context(self._opened(location, {}))
                where = terminal.plain(address_of(self.location))
                terminal.console(stderr=True).print(
                    f"{where} is in use by another process; reading a copy of it as of now.",
                    style="dim",
                    soft_wrap=True,
                )
            yield memory

    @contextmanager
    def _copy(self) -> Generator[str]:
        """Copy a directory that another process owns to a temporary one, readable by this user."""
        from amem_integrations.stores.edge.ownership import copy_busy

        with tempfile.TemporaryDirectory(prefix="amem-", ignore_cleanup_errors=True) as copy:
            with terminal.working("Copying"):
                directory = Path(self.location).expanduser().resolve() / self.collection
                copy_busy(directory, Path(copy) / self.collection)
            yield copy

    def _opened(self, location: str, settings: dict[str, Any]) -> AgenticMemory:
        settings = {
            **settings,
            "model": self.model,
            "collection": self.collection,
            "api_key": self.api_key,
        }
        try:
            return AgenticMemory(location, embedder=self.embedder, **settings)
        except StoreMismatchError as error:
            if self.embedder is not None or error.embedder is None or error.dimension is None:
                raise
            own = _stored_embedder(error.embedder, error.dimension)
            return AgenticMemory(location, embedder=own, **settings)

    def _exists(self) -> bool:
        return is_there(self.location, collection=self.collection, api_key=self.api_key)


def _stored_embedder(name: str, dimension: int) -> NamedEmbedder:
    """The embedder that a collection remembers as `name`, or one that refuses to embed."""
    try:
        found = resolve_embedder(name)
        if (found.name, found.dimension) == (name, dimension):
            return found
        why = "It is another one now"
    except ModelUnavailableError as error:
        why = str(error).partition(". ")[0]
    message = (
        f"This memory was written with the embedder {name!r}, which amem cannot have, so it "
        f"can show, check, export and forget, but not search, add or form. {why.rstrip('.')}. "
        "Use the memory from Python with its embedder, or have `amem admin reembed` make a copy "
        "for another one."
    )

    def refuse(_: Any) -> Any:
        raise ModelUnavailableError(message)

    return NamedEmbedder(embedder_of(refuse, refuse), name=name, dimension=dimension)


def command(
    group: typer.Typer, shared: tuple[str, ...], *examples: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command with these shared options.

    The function gets a Target first, then its own arguments. Whether JSON is asked for is read
    from `terminal`.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        keyword = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(name, keyword, annotation=annotation, default=default)
            for name, (annotation, default) in _SHARED.items()
            if name in shared
        ]
        first = sum(option.name in ("location", "namespace") for option in options)
        own = [*inspect.signature(function).parameters.values()][1:]
        parameters = [
            *options[:first],
            *(parameter.replace(kind=keyword) for parameter in own),
            *options[first:],
        ]

        @functools.wraps(function)
        def run(**arguments: Any) -> None:
            given = {name: arguments.pop(name) for name in shared}
            terminal.JSON_ASKED.set(given.pop("as_json", False))
            if "namespace" in given:
                given["namespace"] = namespace_of(given["namespace"]) or DEFAULT
            function(Target(**given), **arguments)

        setattr(run, "__signature__", inspect.Signature(parameters))  # noqa: B010
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        group.command(function.__name__.rstrip("_"), epilog=example(*examples))(run)
        return function

    return register


def command_group(description: str) -> typer.Typer:
    """Make a group of commands; without one of them it prints its help."""

    def print_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return typer.Typer(
        help=description,
        callback=print_help,
        invoke_without_command=True,
        rich_markup_mode=None,
    )


def example(*lines: str) -> str:
    """The end of a command's help: how it is called. Its lines stay as they are."""
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", heading, *(f"  {line}" for line in lines)])


def check_embedder(memory: AgenticMemory) -> None:
    """Raise the embedder's error before every note is tried in vain."""
    memory.perform(lambda _, io: io.embed_query("a"))


def namespace_of(labels: list[str] | None) -> Namespace | None:
    return as_namespace(labels) if labels else None


def describe_empty(memory: AgenticMemory, namespace: Namespace) -> str:
    """Say, safe to show, that a namespace has no notes, and where to look instead."""
    namespaces = memory.namespaces()
    empty = f"There are no notes in namespace {'/'.join(namespace)}."
    apart = tuple(part for label in namespace for part in label.split("/"))
    if apart != namespace and apart in namespaces:
        options = (part for label in apart for part in ("-n", label))
        empty += f" Labels are given one by one: {shlex.join(options)}"
    elif namespaces:
        empty += " `amem admin namespaces` lists those that have some."
    return terminal.plain(empty)


def parse_time(text: str | None, option: str, now: datetime | None = None) -> datetime | None:
    """The moment that `text` means: an ISO date or time, or how long before `now`."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return (now or datetime.now(UTC)) - int(ago[1]) * _UNITS[ago[2]]
        return as_aware(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{option} is a date, a time, or how long ago, such as 2026-11-01, 2026-11-01T08:00Z, "
            f"24h, 7d or 2w; got {text!r}."
        ) from error


def find_note(memory: AgenticMemory, name: str, namespace: Namespace) -> Note:
    """The note of that id, unique beginning of one, or key, or the one that it was merged into.

    Raises NoteNotFoundError, and InvalidInputError if several ids begin so.
    """
    return _find(memory, name, namespace)[1]


def find_id(memory: AgenticMemory, name: str, namespace: Namespace) -> str:
    """The id of such a note, even if it was merged into another.

    Raises as `find_note` does.
    """
    return _find(memory, name, namespace)[0]


def _find(memory: AgenticMemory, name: str, namespace: Namespace) -> tuple[str, Note]:
    # Bytes that are no text make no id, and no note has them as its name.
    with suppress(UnicodeEncodeError):
        for id in (name, note_id(namespace, name)):
            if (note := memory.get(id, namespace=namespace)) is not None:
                return id, note
    if _BEGINNING.fullmatch(name):
        found = memory.perform(partial(_ids_beginning, namespace=namespace, name=name.lower()))
        if len(found) > 1:
            raise InvalidInputError(
                f"{len(found)} notes of namespace {'/'.join(namespace)} begin with {name!r}; give "
                "more of the id."
            )
        if found and (note := memory.get(found[0], namespace=namespace)) is not None:
            return found[0], note
    raise NoteNotFoundError(
        f"There is no note {name!r} in namespace {'/'.join(namespace)}; `amem search` and "
        "`amem recent` show ids and keys, and --namespace chooses another."
    )


async def _ids_beginning(_: Wiring, io: IO, namespace: Namespace, name: str) -> list[str]:
    points = await load_points(io, within(namespace), fields=())
    return [point.id for point in points if point.id.startswith(name)]
