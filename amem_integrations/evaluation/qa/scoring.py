"""From answers to numbers: each answer against its question, and means with intervals.

Category 5 is held against the adversarial answer, as A-Mem's authors do, and besides judged by
whether the answer abstains, as LoCoMo's do (`f1_official`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import TypeAlias

from amem_integrations.core.io import Embedder
from amem_integrations.core.tokens import estimate_tokens
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.metrics import all_evidence, ranks_of, recall
from amem_integrations.evaluation.qa.checking import gold_of
from amem_integrations.evaluation.qa.judging import Judge
from amem_integrations.evaluation.qa.metrics import (
    bleu1,
    f1,
    f1_official,
    meteor,
    rouge,
    similarities,
)
from amem_integrations.evaluation.qa.run import Answer
from amem_integrations.evaluation.qa.system import Budget
from amem_integrations.evaluation.qa.systems.showing import known, whole
from amem_integrations.evaluation.qa.wordnet import MISSING, wordnet
from amem_integrations.evaluation.resampling import Estimate, Resampling

CORE = "core"
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop", "adversarial")

Asked: TypeAlias = Sequence[tuple[Conversation, Question]]
Row: TypeAlias = Mapping[str, float]
Estimates: TypeAlias = Mapping[str, Mapping[str, Estimate]]
"""By group ("core", then each category) and measure."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One system with one budget.

    rows: the measures of each question, None where it failed or is missing. failed: how many of
    each group. difference: of the first system's measures to these, paired by question.
    """

    system: str
    budget: Budget
    rows: tuple[Row | None, ...]
    estimates: Estimates
    failed: Mapping[str, int]
    difference: Estimates


def groups(asked: Asked) -> list[str]:
    """ "core", the categories of LoCoMo that there are, then any other."""
    there = {question.category for _, question in asked}
    others = sorted(there - set(CATEGORIES))
    return [CORE, *(each for each in CATEGORIES if each in there), *others]


def unavailable() -> dict[str, str]:
    """The measures that cannot be had here, and why."""
    return {} if wordnet() is not None else {"meteor": MISSING}


def score(
    asked: Asked, answers: Sequence[Answer], embedder: Embedder, judge: Judge | None = None
) -> list[Scored]:
    """Each system and budget in the order of the answers. Raises ModelUnavailableError.

    judge: whoever gives the measure "judge".
    """
    rows = _rows(asked, answers, embedder)
    if judge is not None:
        verdicts = judge.verdicts(asked, answers)
        rows = [
            row if row is None or verdict is None else {**row, "judge": verdict}
            for row, verdict in zip(rows, verdicts, strict=True)
        ]
    tables: dict[tuple[str, Budget], list[Row | None]] = {}
    failed: dict[tuple[str, Budget], list[Question]] = {}
    for answer, row in zip(answers, rows, strict=True):
        run = (answer.system, answer.budget)
        tables.setdefault(run, [None] * len(asked))[answer.place] = row
        if answer.failure is not None:
            failed.setdefault(run, []).append(asked[answer.place][1])
    resampling = Resampling(len({conversation.id for conversation, _ in asked}))
    first = next(iter(tables.values()), None)
    return [
        Scored(
            system,
            budget,
            tuple(table),
            _estimates(asked, table, resampling),
            {
                group: sum(_is_of(question, group) for question in failed.get((system, budget), ()))
                for group in groups(asked)
            },
            {}
            if first is None or table is first
            else _estimates(
                asked, [_minus(a, b) for a, b in zip(first, table, strict=True)], resampling
            ),
        )
        for (system, budget), table in tables.items()
    ]


def mean_ranks(scored: Sequence[Scored], measure: str = "f1") -> list[float | None]:
    """Of each its rank among the others by a measure, from 1, averaged over the categories.

    As the paper's Table 1 ranks; equal means share the mean of their ranks.
    """
    found: list[list[float]] = [[] for _ in scored]
    for category in dict.fromkeys(group for each in scored for group in each.estimates):
        means = [
            each.estimates[category][measure].mean if category in each.estimates else None
            for each in scored
        ]
        there = [mean for mean in means if mean is not None]
        if category == CORE or not there:
            continue
        for ranks, mean in zip(found, means, strict=True):
            if mean is not None:
                ahead = sum(other > mean for other in there)
                ranks.append(ahead + (1 + there.count(mean)) / 2)
    return [fmean(ranks) if ranks else None for ranks in found]


def _rows(asked: Asked, answers: Sequence[Answer], embedder: Embedder) -> list[Row | None]:
    pairs = [(answer.text, gold_of(asked[answer.place][1])) for answer in answers]
    near = similarities(pairs, embedder.embed_documents)
    with_meteor = not unavailable()

    @cache
    def everything(place: int) -> int:
        return max(1, estimate_tokens(whole(known(*asked[place]))))

    rows: list[Row | None] = []
    for answer, (text, gold), similarity in zip(answers, pairs, near, strict=True):
        if answer.failure is not None:
            rows.append(None)
            continue
        question = asked[answer.place][1]
        rouge2, rouge_l = rouge(text, gold)
        ranks = ranks_of(question.evidence, answer.turns)
        row = {
            "f1": f1(text, gold),
            "bleu1": bleu1(text, gold),
            "f1_official": f1_official(text, gold, question.category),
            "rouge2": rouge2,
            "rougeL": rouge_l,
            "similarity": similarity,
            "recall": recall(ranks, len(answer.turns)),
            "all": all_evidence(ranks, len(answer.turns)),
            "tokens": float(answer.tokens),
            "share": answer.tokens / everything(answer.place),
        }
        rows.append({**row, "meteor": meteor(text, gold)} if with_meteor else row)
    return rows


def _minus(one: Row | None, other: Row | None) -> Row | None:
    if one is None or other is None:
        return None
    return {measure: one[measure] - other[measure] for measure in one if measure in other}


def _is_of(question: Question, group: str) -> bool:
    return question.core if group == CORE else question.category == group


def _estimates(asked: Asked, table: Sequence[Row | None], resampling: Resampling) -> Estimates:
    measures = dict.fromkeys(measure for row in table if row is not None for measure in row)
    found: dict[str, dict[str, Estimate]] = {}
    for group in groups(asked):
        for measure in measures:
            values: dict[str, list[float]] = {conversation.id: [] for conversation, _ in asked}
            for (conversation, question), row in zip(asked, table, strict=True):
                if row is not None and measure in row and _is_of(question, group):
                    values[conversation.id].append(row[measure])
            estimate = resampling.estimate(list(values.values()))
            if estimate is not None:
                found.setdefault(group, {})[measure] = estimate
    return found
