"""What the commands of `amem` have in common: their options, and how they open a memory."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.memory import AgenticMemory
from amem_integrations.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.note import Note, note_id

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
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="LABEL",
        help='Whose memory; repeat it for several labels. Otherwise "default".',
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help='A fastembed model, or "multilingual". Otherwise all-MiniLM-L6-v2.',
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


@contextmanager
def opened(
    location: str, *, model: str | None = None, embedder: str | None, api_key: str | None
) -> Generator[AgenticMemory]:
    with AgenticMemory(location, model=model, embedder=embedder, api_key=api_key) as memory:
        yield memory


@contextmanager
def existing(
    location: str, *, model: str | None = None, embedder: str | None, api_key: str | None
) -> Generator[AgenticMemory]:
    """A memory that is there already: a mistyped path must not make a new one."""
    if "://" not in location and not Path(location).exists():
        raise InvalidInputError(
            f"There is no memory at {location}; `amem add` makes one. Is --location right?"
        )
    with opened(location, model=model, embedder=embedder, api_key=api_key) as memory:
        yield memory


def labels_of(namespace: list[str] | None) -> tuple[str, ...]:
    return as_namespace(namespace) if namespace else DEFAULT


def conditions(text: str | None, option: str = "--filter") -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        asked = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{option} is not JSON: {error}.") from error
    if not isinstance(asked, dict):
        raise InvalidInputError(f'{option} is a JSON object, such as {{"speaker": "Marta"}}.')
    return asked  # pyright: ignore[reportUnknownVariableType]


def named(memory: AgenticMemory, name: str, namespace: Namespace) -> Note:
    """The note of that id or key. Raises NoteNotFoundError."""
    note = memory.get(name, namespace=namespace) or memory.get(
        note_id(namespace, name), namespace=namespace
    )
    if note is None:
        raise NoteNotFoundError(
            f"There is no note {name!r} in namespace {'/'.join(namespace)}; `amem search` "
            "shows ids and keys, and --namespace chooses another."
        )
    return note
