"""Calling `amem` in this process, on memories whose words are hashed instead of embedded."""

import json
import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner, Result

from amem_integrations import AgenticMemory
from amem_integrations.cli.app import app
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.testing import HashEmbedder

APP: Any = typer.main.get_command(app)
_UNSET = ("AMEM_LOCATION", "AMEM_NAMESPACE", "AMEM_COLLECTION", "AMEM_API_KEY")


def hashed(name: str) -> Any:
    """The embedder of that name, in place of `resolve_embedder`, which knows no HashEmbedder."""
    return resolve_embedder(HashEmbedder(int(name.removeprefix("hash-"))))


def call(*arguments: str | Path, **options: str | None) -> Result:
    env: dict[str, str | None] = {"COLUMNS": "80", **dict.fromkeys(_UNSET), **options}
    text = env.pop("input", None)
    return CliRunner(env=env).invoke(app, list(map(str, arguments)), input=text)


def printed(*arguments: str | Path, **options: str | None) -> Any:
    """The JSON that a command prints, which must end well and say nothing else."""
    result = call(*arguments, "--json", **options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def commands(group: Any = APP, *path: str) -> Iterator[tuple[str, ...]]:
    """The path of every command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *path, name)
        else:
            yield *path, name


def found(path: tuple[str, ...]) -> Any:
    command = APP
    for name in path:
        command = command.commands[name]
    return command


def examples(epilog: str) -> list[list[str]]:
    """The arguments of each example in a help text; what a shell does with it left out."""
    lines = [line.strip() for line in epilog.splitlines()[2:]]
    assert all(line.startswith("amem ") for line in lines)
    return [shlex.split(line.partition(" < ")[0])[1:] for line in lines]


@contextmanager
def kept(directory: Path) -> Generator[AgenticMemory]:
    """A memory that is open while `amem` is called, so that no call has to open its files."""
    with AgenticMemory(directory, embedder=HashEmbedder()) as memory:
        yield memory


def fill(memory: AgenticMemory, namespace: str = "shop") -> None:
    """Add four notes about two matters, two of which say the same."""
    for key, text in {
        "cache": "Calvin wants an LRU policy for the Redis cache",
        "size": "The Redis cache holds at most ten thousand products",
        "again": "The Redis cache holds at most ten thousand products!",
        "violin": "The violin lesson moves to Tuesday",
    }.items():
        memory.add(text, key=key, namespace=namespace, speaker="Ada")
