"""`amem eval qa`: questions answered from memory, ours and others', scored as the paper scores."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from amem_integrations.cli import eval_tables, terminal
from amem_integrations.cli.demo import data_file
from amem_integrations.cli.options import Embedder, Json, Model
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.recall import timed

# Only what asking to help needs: the rest measures, and takes its time to load.
Readers = Literal["model", "extractive", "oracle", "shuffled"]
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
    budget_usd: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop when this is spent.")
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(metavar="IN,OUT", help="Dollars for a million tokens, in and out."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Questions side by side. [8 with a model, else 1]")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have the model judge the answers besides.")
    ] = False,
    draw_map: Annotated[
        bool,
        typer.Option("--map", help="Draw notes before and after evolution, by t-SNE (plots)."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of whatever is drawn.")] = 0,
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

    The report has them beside the paper's tables.
    Answers are kept in the directory --out: the same command goes on where it was interrupted,
    and asks nothing twice.
    """
    from amem_integrations.evaluation.metrics import library
    from amem_integrations.evaluation.qa.model import Limits, LineStore, MeteredModel
    from amem_integrations.evaluation.qa.report import as_dict, save, setup_of
    from amem_integrations.evaluation.qa.run import Run, scorable
    from amem_integrations.evaluation.qa.scoring import score
    from amem_integrations.evaluation.qa.system import Budget, Means
    from amem_integrations.llms.chat_models import resolve_chat_model

    chosen = _systems(systems)
    dataset = read_dataset(data or data_file("conversations.jsonl"), limit=limit)
    budgets = [Budget(each, tokens) for each in dict.fromkeys(k or [10])]
    named, _ = timed(embedder)
    priced = _price(price, model, budget_usd)
    chat = resolve_chat_model(model)
    with ExitStack() as stack:
        answers = LineStore(out / "answers.jsonl")
        stack.callback(answers.close)
        metered = None
        if chat is not None:
            limits = Limits(max_calls, budget_usd)
            metered = MeteredModel(chat, out / "replies.jsonl", limits=limits, price=priced)
            stack.callback(metered.close)
        means = Means(dataset, named, metered, location, seed)
        reading = _reader(reader, dataset, metered, seed)
        side_by_side = concurrency or (1 if metered is None else _SIDE_BY_SIDE)
        judging = _judge(metered, side_by_side) if judge else None
        run = Run(means, reading, answers, model=metered, concurrency=side_by_side)
        if dry_run:
            forecast = [asdict(row) for row in run.forecast(chosen, budgets, priced)]
            terminal.print_result(forecast, eval_tables.forecast(forecast))
            return
        for name in ("nltk", "rouge_score", "jinja2", "plotly.graph_objects"):
            # What is missing is said before anything is asked.
            library(name)
        with _progress(metered) as progress:
            asked = run.ask(chosen, budgets, progress)
        if draw_map:
            _draw_map(means, out / "map.html")
        scored = score(scorable(dataset), asked.answers, named, judging)
        setup = setup_of(means, reading, list(chosen), budgets, metered, judged=judge)
        report = as_dict(scored, asked, setup, metered, priced)
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


def _reader(name: Readers | None, dataset: Any, model: Any, seed: int) -> Any:
    from amem_integrations.evaluation.qa import readers

    match name or ("extractive" if model is None else "model"):
        case "extractive":
            return readers.ExtractiveReader()
        case "oracle":
            return readers.OracleReader()
        case "shuffled":
            return readers.ShuffledReader(dataset, seed=seed)
        case _ if model is None:
            raise InvalidInputError("--reader model needs a model; give one with --model.")
        case _:
            return readers.ModelReader(model, seed=seed)


def _judge(model: Any, concurrency: int) -> Any:
    from amem_integrations.evaluation.qa.readers import Judge

    if model is None:
        raise InvalidInputError("--judge needs a model; give one with --model.")
    return Judge(model, concurrency=concurrency)


def _draw_map(means: Any, path: Path) -> None:
    """The notes of the first conversation, which are there already or formed from kept replies."""
    from amem_integrations import plots
    from amem_integrations.cli.plots import save
    from amem_integrations.evaluation.qa.systems import AMem

    first = means.dataset.conversations[0]
    with closing(AMem(means)) as system:
        system.prepare(first)
        home = system.home(first)
        save(path, lambda: plots.embedding_map(system.memory, home, method="tsne"))


def _price(text: str | None, model: str | None, budget_usd: float | None) -> Any:
    from amem_integrations.evaluation.qa.model import Price, price_of

    if text is not None:
        try:
            tokens_in, tokens_out = map(float, text.split(","))
        except ValueError:
            raise InvalidInputError(
                f"--price is two numbers, such as 0.15,0.60; got {text!r}."
            ) from None
        return Price(tokens_in, tokens_out)
    known = None if model is None else price_of(model)
    if budget_usd is not None and known is None:
        raise InvalidInputError("--budget-usd needs to know what tokens cost; give --price IN,OUT.")
    return known


@contextmanager
def _progress(model: Any) -> Generator[Callable[[str, int, int], None]]:
    """A bar with what was spent, on the terminal and not in what the command prints."""
    with terminal.progress_bars() as progress:
        task = progress.add_task("preparing", total=None)

        def advance(doing: str, done: int, total: int) -> None:
            spent = "" if model is None else f", {model.calls:,} calls"
            if model is not None and model.usd is not None:
                spent += f", ${model.usd:.2f} of about ${model.usd * total / max(done, 1):.2f}"
            progress.update(task, description=doing + spent, completed=done, total=total)

        try:
            yield advance
        except KeyboardInterrupt:
            terminal.console(stderr=True).print("Interrupted; the same command goes on from here.")
            raise
