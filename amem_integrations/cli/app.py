"""The `amem` command put together, and how it fails: one line, no traceback, an exit code."""

import errno
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from amem_integrations import __version__
from amem_integrations.cli import (
    admin,
    lifecycle,
    notes,
    plots,
    services,
    terminal,
    transfer,
)
from amem_integrations.cli.eval import group as eval_group
from amem_integrations.cli.options import Embedder, Json, Model, example
from amem_integrations.errors import AMemError

_USAGE = 2


class Commands(TyperGroup):
    """Turns errors into one line, or with --json into an object, and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        as_json = "--json" in (*ctx._protected_args, *ctx.args)
        terminal.JSON_ASKED.set(as_json)
        try:
            try:
                return super().invoke(ctx)
            finally:
                # A full disk or a reader that left shows here, and not once all is over.
                sys.stdout.flush()
        except Exception as error:
            if (message := _describe(error)) is not None:
                _print_error(type(error).__name__, message, as_json)
                raise typer.Exit(1) from None
            # What the parser refuses; its own class is not to be imported.
            if getattr(error, "exit_code", None) != _USAGE:
                raise
            if isinstance(given := getattr(error, "message", None), str):
                # Among the arguments may be names of files, as the shell found them.
                setattr(error, "message", terminal.plain(given))  # noqa: B010
            if not as_json:
                raise
            _print_error("UsageError", getattr(error, "format_message", error.__str__)(), as_json)
            raise typer.Exit(_USAGE) from None


def _describe(error: Exception) -> str | None:
    """What to say of an error that is no defect of the package; None for any other."""
    match error:
        case AMemError():
            return str(error)
        case ModuleNotFoundError() if "pip install" in str(error):
            return str(error)
        case ModuleNotFoundError():
            return (
                f"This needs the package {error.name}, which is not installed; the extras of "
                "amem-integrations bring what its commands need."
            )
        case OSError() if error.errno != errno.EPIPE:
            about = f"{error.filename}: " if error.filename else ""
            return f"{about}{error.strerror or error}."
        case _:
            return None


def _print_error(kind: str, message: str, as_json: bool) -> None:
    if as_json:
        report = {"error": {"kind": kind, "message": message}}
        typer.echo(terminal.to_json(report, indent=None), err=True)
        return
    shown = Text.assemble(("amem: ", "bold red"), terminal.plain(message))
    terminal.console(stderr=True).print(shown, soft_wrap=True)


app = typer.Typer(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"amem {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=example(
        "amem demo",
        'amem add "Calvin is allergic to nuts" --location ./memory',
        'amem search "what can Calvin not eat?" --location ./memory',
    ),
)
def amem(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An agent memory that links its notes and lets them evolve."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        return
    long = context.invoked_subcommand == "work"
    terminal.show_warnings(
        terminal.console(stderr=True) if long else terminal.console(remarks=True)
    )


@app.command(epilog=example("amem demo", "amem demo --keep ./memory --model openai:gpt-4o-mini"))
def demo(
    model: Model = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the memory in this directory.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show what each score is made of.")] = False,
    as_json: Json = False,
    embedder: Embedder = None,
) -> None:
    """Watch a conversation being remembered and recalled.

    Offline unless --model is given.
    """
    from amem_integrations.cli.demo import run

    console = Console(quiet=True) if as_json else terminal.console()
    if not as_json:
        terminal.show_warnings(console)
    terminal.print_result(run(console, model=model, embedder=embedder, keep=keep, why=why))


for module in (notes, transfer, services, admin):
    app.add_typer(module.commands)
app.add_typer(admin.group, name="admin")
app.add_typer(lifecycle.group, name="lifecycle")
app.add_typer(eval_group, name="eval")
app.add_typer(plots.group, name="plot")
