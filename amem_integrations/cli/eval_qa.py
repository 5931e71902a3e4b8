"""`amem eval qa`: questions answered from memory, scored as the paper scores."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from amem_integrations import __version__
from amem_integrations.cli import eval_tables, terminal
from amem_integrations.cli.demo import data_file
from amem_integrations.cli.options import Embedder, Json, Model
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.recall import timed

# Only what asking to help needs: the rest measures, and takes its time to load.
Readers = Literal["model", "extractive"]
_SIDE_BY_SIDE = 8


def qa(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="LoCoMo or lines of JSON with answers. Otherwise three conversations of our own.",
        ),
    ] = None,
    systems: Annotated[
        str, typer.Option(metavar="NAME,…", help="Which memories; --systems help lists them.")
    ] = "amem,dense,bm25,full-context",
    reader: Annotated[
        Readers | None,
        typer.Option(help='Who answers. Otherwise "model" with --model, "extractive" without.'),
    ] = None,
    model: Model = None,
    k: Annotated[
        list[int] | None,
        typer.Option("-k", min=1, help="Notes a question; several are compared. [10]"),
    ] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of evidence a question, at most.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Take the first so many conversations only.")
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many calls of the model.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Questions side by side. [8 with a model, else 1]")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have the model judge the answers besides.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be asked of the model.")
    ] = False,
    embedder: Embedder = None,
    location: Annotated[
        str | None,
        typer.Option(
            "--location", "-l", metavar="DIR|URL", help="Keep our notes there and use them again."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Where answers and reports go.")
    ] = Path("amem-qa"),
    as_json: Json = False,
) -> None:
    """Answer questions from memory and score the answers.

    The report has them beside the paper's numbers.
    Answers, and notes that a model formed, are kept in the directory --out: the same command goes
    on where it was interrupted.
    """
    from amem_integrations.evaluation.metrics import library
    from amem_integrations.evaluation.qa.model import LimitedModel, LineStore, fingerprint
    from amem_integrations.evaluation.qa.report import as_dict, save, setup_of
    from amem_integrations.evaluation.qa.run import Run, scorable
    from amem_integrations.evaluation.qa.scores import score
    from amem_integrations.evaluation.qa.system import Budget, Means
    from amem_integrations.llms.chat_models import resolve_chat_model

    chosen = _systems(systems)
    dataset = read_dataset(data or data_file("conversations.jsonl"), limit=limit)
    budgets = [Budget(each, tokens) for each in dict.fromkeys(k or [10])]
    named, _ = timed(embedder)
    chat = resolve_chat_model(model)
    limited = None if chat is None else LimitedModel(chat, limit=max_calls)
    if location is None and limited is not None:
        location = str(out / f"notes-{fingerprint(__version__, named.name)[:8]}")
    with ExitStack() as stack:
        answers = LineStore(out / "answers.jsonl")
        stack.callback(answers.close)
        means = Means(dataset, named, limited, location)
        reading = _reader(reader, limited)
        side_by_side = concurrency or (1 if limited is None else _SIDE_BY_SIDE)
        judging = _judge(limited, answers, side_by_side) if judge else None
        run = Run(means, reading, answers, model=limited, concurrency=side_by_side)
        if dry_run:
            forecast = [asdict(row) for row in run.forecast(chosen, budgets)]
            terminal.print_result(forecast, eval_tables.forecast(forecast))
            return
        for name in ("nltk", "rouge_score", "jinja2"):
            # What is missing is said before anything is asked.
            library(name)
        with _progress(limited) as progress:
            asked = run.ask(chosen, budgets, progress)
        scored = score(scorable(dataset), asked.answers, named, judging)
        setup = setup_of(means, reading, list(chosen), budgets, limited, judged=judge)
        report = as_dict(scored, asked, setup, limited)
    written = save(report, out)
    terminal.print_result(report, eval_tables.answers(report))
    terminal.console(stderr=True).print(f"Written: {', '.join(map(str, written))}", style="dim")


def _systems(text: str) -> dict[str, Any]:
    from amem_integrations.evaluation.qa.systems import SYSTEMS

    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown or not names:
        raise InvalidInputError(
            f"There is no system {', '.join(map(repr, unknown)) or 'given'}; there are "
            f"{', '.join(SYSTEMS)}."
        )
    return {name: SYSTEMS[name] for name in names}


def _reader(name: Readers | None, model: Any) -> Any:
    from amem_integrations.evaluation.qa.extractive import ExtractiveReader
    from amem_integrations.evaluation.qa.readers import ModelReader

    if name == "extractive" or (name is None and model is None):
        return ExtractiveReader()
    if model is None:
        raise InvalidInputError("--reader model needs a model; give one with --model.")
    return ModelReader(model)


def _judge(model: Any, kept: Any, concurrency: int) -> Any:
    from amem_integrations.evaluation.qa.readers import Judge

    if model is None:
        raise InvalidInputError("--judge needs a model; give one with --model.")
    return Judge(model, kept, concurrency=concurrency)


@contextmanager
def _progress(model: Any) -> Generator[Callable[[str, int, int], None]]:
    """A bar with the calls so far, on the terminal and not in what the command prints."""
    with terminal.progress_bars() as progress:
        task = progress.add_task("preparing", total=None)

        def advance(doing: str, done: int, total: int) -> None:
            calls = "" if model is None else f", {model.usage['calls']:,} calls"
            progress.update(task, description=doing + calls, completed=done, total=total)

        try:
            yield advance
        except KeyboardInterrupt:
            terminal.console(stderr=True).print("Interrupted; the same command goes on from here.")
            raise
