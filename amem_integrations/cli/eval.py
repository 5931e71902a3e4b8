"""`amem eval`: how well recall finds what answers the questions of a data file."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from amem_integrations.cli import eval_tables, terminal
from amem_integrations.cli.demo import matters, messages
from amem_integrations.cli.eval_qa import qa
from amem_integrations.cli.options import (
    ApiKey,
    Embedder,
    Json,
    Mode,
    Model,
    ModeOption,
    command_group,
    example,
)
from amem_integrations.core.note import Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.ablation import switches, with_settings, without
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.recall import (
    BASELINE,
    CUTOFFS,
    QuestionEmbedder,
    Setup,
    ask,
    ask_baseline,
    fill,
    timed,
)
from amem_integrations.evaluation.report import as_dict, earlier_run, score
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import FormationOptions
from amem_integrations.recall.signals import DEFAULT_OPTIONS

group = command_group("Measure recall, answers and links.")
group.command(
    epilog=example("amem eval qa", "amem eval qa talks.jsonl --model openai:gpt-4o-mini --dry-run")
)(qa)

Formed = Literal["off", "free", "model"]
_ALWAYS = 10

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="LoCoMo, BEAM, or lines of JSON; gzip or not.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set an option of recall; can be repeated."),
]
Hops = Annotated[int, typer.Option(min=0, help="How many links to follow.")]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Take the first so many conversations only.")
]
Formation = Annotated[
    Formed | None,
    typer.Option(help='How notes are formed. Otherwise "model" with --model, "free" without.'),
]
Kept = Annotated[
    # Not from AMEM_LOCATION: what is measured with is no part of anybody's memory.
    str | None,
    typer.Option(
        "--location",
        "-l",
        metavar="DIR|URL",
        help="Keep the notes there and use them again. Otherwise a temporary directory.",
    ),
]


@group.command(epilog=example("amem eval recall talks.jsonl --baseline amem-dense --ablate"))
def recall(
    data: Data,
    baseline: Annotated[
        Literal["amem-dense"] | None,
        typer.Option(help="Compare with the reference's recall."),
    ] = None,
    without_: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="SIGNAL", help="Compare with this signal off; can be repeated."
        ),
    ] = None,
    ablate: Annotated[
        bool,
        typer.Option(
            "--ablate", help="--without every signal, one at a time, and without formation."
        ),
    ] = False,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="REPORT", help="Compare with what --json printed; can be repeated."),
    ] = None,
    settings: Settings = None,
    hops: Hops = 1,
    k: Annotated[
        list[int] | None,
        typer.Option(
            "-k", min=1, help="Report recall@k beside recall@10; can be repeated. [5, 20, 30]"
        ),
    ] = None,
    limit: Limit = None,
    formation: Formation = None,
    model: Model = None,
    mode: ModeOption = "batched",
    embedder: Embedder = None,
    location: Kept = None,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Whether recall finds the evidence, by category.

    Recall, MRR, nDCG and times, compared with a baseline and without signals.
    """

    setup = Setup(with_settings(DEFAULT_OPTIONS, settings or ()), hops)
    off = list(dict.fromkeys([*(without_ or ()), *(switches(setup.options) if ablate else ())]))
    ablated = {name: replace(setup, options=without(setup.options, name)) for name in off}
    cutoffs = sorted({*(k or CUTOFFS), _ALWAYS})
    depth = max(cutoffs)
    dataset = read_dataset(data, limit=limit)
    earlier = [earlier_run(path, dataset, k=depth) for path in against or ()]
    with (
        _opened(location, formation, True, model, mode, embedder, api_key) as (memory, questions),
        terminal.stages() as stage,
    ):
        filled = fill(memory, dataset, stage("remembering"))
        runs = [ask(filled, setup, questions, k=depth, progress=stage("asking"))]
        if baseline is not None:
            embedding, asking = stage(f"embedding for {BASELINE}"), stage(f"asking {BASELINE}")
            runs.append(
                ask_baseline(dataset, questions, k=depth, progress=asking, embedding=embedding)
            )
        for name, changed in ablated.items():
            named = f"without {name}"
            runs.append(ask(filled, changed, questions, k=depth, name=named, progress=stage(named)))
        for name, changes in (_formed_less(formation, model) if ablate else {}).items():
            named = f"without {name}"
            with _opened(location, *changes, None, mode, embedder, api_key) as (other, its):
                less = fill(other, dataset, stage(f"remembering {named}"))
                runs.append(ask(less, setup, its, k=depth, name=named, progress=stage(named)))
        report = as_dict(score(dataset, [*runs, *earlier], cutoffs), filled, questions, cutoffs)
    terminal.print_result(report, eval_tables.recall(report))


@group.command(epilog=example("amem eval abstention talks.jsonl"))
def abstention(
    data: Data,
    settings: Settings = None,
    hops: Hops = 1,
    k: Annotated[int, typer.Option("-k", min=1, help="How many notes at most.")] = 10,
    limit: Limit = None,
    formation: Formation = None,
    model: Model = None,
    mode: ModeOption = "batched",
    embedder: Embedder = None,
    location: Kept = None,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Whether relevance tells what is not stored.

    Questions of one conversation are asked of another as well.
    With --set min_relevance=VALUE there is a line for that value.
    """
    from amem_integrations.evaluation import abstention as measures

    setup = Setup(with_settings(DEFAULT_OPTIONS, settings or ()), hops)
    dataset = read_dataset(data, limit=limit)
    with (
        _opened(location, formation, True, model, mode, embedder, api_key) as (memory, _),
        terminal.stages() as stage,
    ):
        filled = fill(memory, dataset, stage("remembering"))
        found = measures.ask_twice(filled, setup, k=k, progress=stage("asking"))
        chosen = setup.options.min_relevance
        points = measures.curve(found, at=() if chosen is None else (chosen,))
        report = measures.as_dict(points, filled, setup, k)
    terminal.print_result(report, eval_tables.abstention(report))


@group.command(epilog=example("amem eval links --model openai:gpt-4o-mini"))
def links(
    model: Model = None,
    mode: ModeOption = "fused",
    embedder: Embedder = None,
    location: Kept = None,
    api_key: ApiKey = None,
    as_json: Json = False,
) -> None:
    """Whether notes are linked with what they belong with.

    On the labelled demonstration, by statistics or by the model given.
    """
    from amem_integrations.evaluation.links import score_links

    home = ("demo",)
    with (
        _opened(location, None, True, model, mode, embedder, api_key) as (memory, _),
        terminal.stages() as stage,
    ):
        notes = memory.add_many(messages(), namespace=home, progress=stage("remembering"))
        raw = sum(note.status is not Status.FORMED for note in notes)
        scores = score_links(notes, matters())
    report = {"notes": len(notes), "unformed": raw, "model": model, **asdict(scores)}
    terminal.print_result(report, eval_tables.links(report))


def _formed_less(
    formation: Formed | None, model: str | None
) -> dict[str, tuple[Formed | None, bool]]:
    """Ways to form notes that cost no model call: raw, and as they are but without evolution."""
    if formation == "off":
        return {}
    raw: dict[str, tuple[Formed | None, bool]] = {"formation": ("off", True)}
    return raw if model is not None else {"evolution": ("free", False), **raw}


@contextmanager
def _opened(
    location: str | None,
    formation: Formed | None,
    evolve: bool,
    model: str | None,
    mode: Mode,
    embedder: str | None,
    api_key: str | None,
) -> Generator[tuple[AgenticMemory, QuestionEmbedder]]:
    formation = formation or ("free" if model is None else "model")
    if (formation == "model") != (model is not None):
        raise InvalidInputError("--formation model goes with --model, and the others without it.")
    named, questions = timed(embedder)
    with AgenticMemory(
        location,
        model=model,
        embedder=named,
        formation="off" if formation == "off" else "inline",
        mode="fused" if model is None else mode,
        api_key=api_key,
        formation_options=FormationOptions(evolve=evolve),
    ) as memory:
        yield memory, questions
