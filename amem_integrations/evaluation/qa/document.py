"""The report to be read: our run beside the paper's tables, as Markdown and as one HTML page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.qa import figures, paper
from amem_integrations.evaluation.qa.layout import (
    Block,
    Figure,
    Heading,
    Table,
    Verbatim,
    html,
    markdown,
)
from amem_integrations.evaluation.qa.report import groups_of, labels_of
from amem_integrations.evaluation.qa.scoring import CORE

_NONE = "n/a"


def save(report: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write report.md, report.html and the figures; return where. Raises InvalidInputError."""
    found = list(blocks(report))
    written = {
        "report.md": markdown(found),
        "report.html": html(found),
        **{f"{each.name}.svg": each.svg for each in found if isinstance(each, Figure)},
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            (directory / name).write_text(text, "utf-8")
    except OSError as error:
        raise InvalidInputError(f"{directory} cannot be written: {error.strerror}.") from error
    return [directory / name for name in written]


def blocks(report: Mapping[str, Any]) -> Iterator[Block]:
    setup = report["setup"]
    names = [*setup["reported"], setup["model"]]
    known = next((like for name in names if (like := paper.model_like(name))), None)
    beside = known or paper.SWEPT_MODEL
    yield from _introduction(report, known, beside)
    yield Heading("F1 with intervals")
    yield _intervals(report)
    yield Figure("f1", figures.by_category(report, beside))
    yield Heading("F1 and BLEU-1, as in the paper's Table 1")
    yield _pairs(report, "table1", ("f1", "bleu1"), beside, ranked=True)
    if any(each["system"] in set(paper.ABLATIONS) - {"amem"} for each in report["systems"]):
        yield Heading("Ablation, as in Table 3")
        yield _ablation(report)
    yield Heading("ROUGE-2 and ROUGE-L, as in Table 5")
    yield _pairs(report, "table5", ("rouge2", "rougeL"), beside)
    yield Heading("METEOR and similarity of sentences, as in Table 6")
    yield _pairs(report, "table6", ("meteor", "similarity"), beside)
    yield from (f"{name}: {_NONE}. {why}" for name, why in report["unavailable"].items())
    yield Heading("F1 by LoCoMo's own scoring")
    yield (
        "Repeated words count, words are stemmed, articles dropped; multi-hop answers are lists; "
        "an adversarial question is answered right by abstaining."
    )
    yield _measures(report, "f1_official")
    if any("judge" in each["estimates"].get(CORE, {}) for each in report["systems"]):
        yield Heading("Right by the model's own judgement")
        yield "The model that takes part judges; its prompt stands below."
        yield _measures(report, "judge")
    yield Heading("Evidence")
    yield _evidence(report)
    if report["sweep"]:
        yield Heading("How many notes: F1 by k, as in Table 8 and Figure 3")
        yield from _sweep(report)
    yield from _setup(report)


def _introduction(report: Mapping[str, Any], known: str | None, beside: str) -> Iterator[Block]:
    setup = report["setup"]
    data = setup["data"]
    yield (
        f"{data['conversations']} conversations, {data['turns']:,} turns, {data['questions']:,} "
        f"questions; answered by {setup['reader']}. All measures are percentages. Means are over "
        "questions; intervals are 95%, by a bootstrap over conversations, and missing where there "
        "is one conversation only."
    )
    if setup["model"] is None:
        yield (
            "No model took part: these answers are copied from the evidence by rules, or known "
            "beforehand, and stand for nothing that a model would reach."
        )
    yield f"In italics: the paper (arXiv 2502.12110) with {beside}" + (
        "." if known else ", since the model of this run is none of the paper's; not comparable."
    )
    if data["format"] != "locomo":
        yield "The paper's questions are LoCoMo's, and these are not: what it reports is a guide."
    if report["missing"]:
        yield f"Not complete: {report['missing']:,} answers are missing, as a limit was reached."


def _intervals(report: Mapping[str, Any]) -> Table:
    groups = [CORE, *groups_of(report)]
    rows: list[list[str]] = []
    for label, each in zip(labels_of(report), report["systems"], strict=True):
        found = [each["estimates"].get(group, {}).get("f1") for group in groups]
        ahead = each["difference"].get(CORE, {}).get("f1")
        rows.append([label, *map(_interval, found), _interval(ahead, signed=True)])
    first = labels_of(report)[0] if report["systems"] else ""
    return Table(["", *map(_heading, groups), f"{first} is ahead by"], rows)


def _pairs(
    report: Mapping[str, Any],
    table: str,
    measures: tuple[str, str],
    model: str,
    *,
    ranked: bool = False,
) -> Table:
    """Two measures by category, each system of the paper's followed by the paper's own row."""
    groups = groups_of(report)
    last = {each["system"]: each for each in report["systems"]}
    rows: list[list[str]] = []
    theirs: set[int] = set()
    for label, each in zip(labels_of(report), report["systems"], strict=True):
        row = [label, *_cells(each, groups, measures)]
        rank = _NONE if each["rank"] is None else f"{each['rank']:.1f}"
        rows.append([*row, rank, _tokens(each)] if ranked else row)
        method = paper.METHODS.get(each["system"])
        if method is None or each is not last[each["system"]]:
            continue
        told = [paper.told(table, model, method, m, g) for g in groups for m in measures]
        if any(value is not None for value in told):
            theirs.add(len(rows))
            known = paper.tables()[table][model][method]
            more = [str(known["rank"]), f"{known['tokens']:,}"] if ranked else []
            rows.append([f"{method}, {model}", *map(_number, told), *more])
    header = ["", *(f"{group} {_SHORT[measure]}" for group in groups for measure in measures)]
    return Table([*header, "rank", "tokens"] if ranked else header, rows, frozenset(theirs))


def _ablation(report: Mapping[str, Any]) -> Table:
    groups, measures = groups_of(report), ("f1", "bleu1")
    last = {each["system"]: each for each in report["systems"]}
    rows: list[list[str]] = []
    theirs: set[int] = set()
    for label, each in zip(labels_of(report), report["systems"], strict=True):
        if not each["system"].startswith("amem"):
            continue
        rows.append([label, *_cells(each, groups, measures)])
        told = paper.tables()["table3"].get(paper.ABLATIONS.get(each["system"]))
        if told is not None and each is last[each["system"]]:
            theirs.add(len(rows))
            name = f"{paper.ABLATIONS[each['system']]}, {paper.ABLATED_MODEL}"
            rows.append([name, *(_number(told[m].get(g)) for g in groups for m in measures)])
    header = ["", *(f"{group} {_SHORT[measure]}" for group in groups for measure in measures)]
    return Table(header, rows, frozenset(theirs))


def _measures(report: Mapping[str, Any], measure: str) -> Table:
    groups = [CORE, *groups_of(report)]
    rows = [
        [label, *(_interval(each["estimates"].get(group, {}).get(measure)) for group in groups)]
        for label, each in zip(labels_of(report), report["systems"], strict=True)
    ]
    return Table(["", *map(_heading, groups)], rows)


def _evidence(report: Mapping[str, Any]) -> Table:
    rows: list[list[str]] = []
    for label, each in zip(labels_of(report), report["systems"], strict=True):
        core = each["estimates"].get(CORE, {})
        limit = "none" if each["tokens"] is None else f"{each['tokens']:,}"
        shares = (core.get(measure) for measure in ("recall", "all", "share"))
        failed = sum(count for group, count in each["failed"].items() if group != CORE)
        rows.append(
            [label, str(each["k"]), limit, *map(_interval, shares), _tokens(each), str(failed)]
        )
    header = ["", "k", "token limit", "recall of evidence", "all of it", "share of full context"]
    return Table([*header, "tokens a question", "failed questions"], rows)


def _sweep(report: Mapping[str, Any]) -> Iterator[Block]:
    groups = groups_of(report)
    rows: list[list[str]] = []
    for system, by_group in report["sweep"].items():
        for kind in ("best", "advised"):
            rows.append([f"{system}, {kind}", *(str(by_group[group][kind]) for group in groups)])
    theirs = frozenset(range(len(rows), len(rows) + len(paper.tables()["table8"])))
    for model, by_group in paper.tables()["table8"].items():
        rows.append([f"A-MEM, {model}", *(str(by_group.get(group, _NONE)) for group in groups)])
    yield Table(["k", *groups], rows, theirs)
    yield (
        "Best is chosen on these very questions, as in the paper, and so flatters. Advised is the "
        "least k whose F1 is within the interval of the best. The paper's pattern: small models "
        "(1 to 3 billion parameters) do best with 10 notes, larger ones gain until 40 or 50."
    )
    drawn = figures.by_k(report)
    if drawn is not None:
        yield Figure("k", drawn)


def _setup(report: Mapping[str, Any]) -> Iterator[Block]:
    setup, usage = report["setup"], report["usage"]
    yield Heading("Set-up")
    facts = [
        ("package", f"amem-integrations {setup['version']}, Python {setup['python']}"),
        ("libraries", ", ".join(f"{name} {which}" for name, which in setup["libraries"].items())),
        ("data", f"{setup['data']['format']}, sha256 {setup['data']['sha256']}"),
        *(("left out", f"{kind}: {n}") for kind, n in setup["data"]["defects"].items()),
        ("model", setup["model"] or "none"),
        ("as its provider calls it", ", ".join(setup["reported"]) or _NONE),
        ("reader", setup["reader"]),
        ("embedder", setup["embedder"]),
        ("seed", str(setup["seed"])),
    ]
    if usage is not None:
        facts.append(
            (
                "model calls",
                f"{usage['calls']:,}; {usage['tokens_in']:,} tokens in, {usage['tokens_out']:,} "
                f"out, {usage['estimated']:,} of them estimated; {usage['seconds']:,.0f} s",
            )
        )
        if usage["usd"] is not None:
            facts.append(("dollars", f"{usage['usd']:.4f}"))
    yield Table(["", ""], [list(fact) for fact in facts])
    if setup["prompts"]:
        yield Heading("Prompts")
        yield Verbatim("\n\n".join(f"{name}: {text}" for name, text in setup["prompts"].items()))


_SHORT = {
    "f1": "F1",
    "bleu1": "BLEU-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "meteor": "METEOR",
    "similarity": "similarity",
}


def _cells(each: Mapping[str, Any], groups: Sequence[str], measures: Sequence[str]) -> list[str]:
    found = (each["estimates"].get(group, {}).get(m) for group in groups for m in measures)
    return [_NONE if one is None else _number(100 * one["mean"]) for one in found]


def _heading(group: str) -> str:
    return "all but adversarial" if group == CORE else group


def _tokens(each: Mapping[str, Any]) -> str:
    tokens = each["estimates"].get(CORE, {}).get("tokens")
    return _NONE if tokens is None else f"{tokens['mean']:,.0f}"


def _number(percent: float | None) -> str:
    return _NONE if percent is None else f"{percent:.2f}"


def _interval(estimate: Mapping[str, Any] | None, *, signed: bool = False) -> str:
    if estimate is None:
        return "" if signed else _NONE
    mean = f"{100 * estimate['mean']:{'+' if signed else ''}.1f}"
    if estimate["low"] is None:
        return mean
    return f"{mean} [{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"
