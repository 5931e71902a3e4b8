"""From answers to numbers: each answer against its question, and means with intervals.

Category 5 is scored against the adversarial answer, as A-Mem's authors do, and besides by
whether the answer abstains, as LoCoMo's do (`f1_official`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from amem_integrations.core.io import Embedder
from amem_integrations.core.values import estimate_tokens
from amem_integrations.evaluation import metrics
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.readers import Judge, gold_of
from amem_integrations.evaluation.qa.system import Answer, Budget, known_turns, transcript
from amem_integrations.evaluation.report import Estimates, Row, estimates_of, groups, in_group

Asked: TypeAlias = Sequence[tuple[Conversation, Question]]


@dataclass(frozen=True, slots=True)
class Scored:
    """One system with one budget.

    rows: the measures of each question, None if it failed or is missing. failed: how many of
    each group. difference: of the first system's measures to these, paired by question.
    """

    system: str
    budget: Budget
    rows: tuple[Row | None, ...]
    estimates: Estimates
    failed: Mapping[str, int]
    difference: Estimates


def score(
    asked: Asked, answers: Sequence[Answer], embedder: Embedder, judge: Judge | None = None
) -> list[Scored]:
    """Score each system and budget in the order of the answers.

    judge: gives the measure "judge".
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
        key = (answer.system, answer.budget)
        tables.setdefault(key, [None] * len(asked))[answer.place] = row
        failures = failed.setdefault(key, [])
        if answer.failure is not None:
            failures.append(asked[answer.place][1])
    names = groups(asked)
    results = estimates_of(asked, list(tables.values()), names)
    return [
        Scored(
            *key,
            tuple(tables[key]),
            estimates,
            {group: sum(in_group(each, group) for each in failed[key]) for group in names},
            difference,
        )
        for key, (estimates, difference) in zip(tables, results, strict=True)
    ]


def _rows(asked: Asked, answers: Sequence[Answer], embedder: Embedder) -> list[Row | None]:
    pairs = [(answer.text, gold_of(asked[answer.place][1])) for answer in answers]
    cosines = metrics.similarities(pairs, embedder.embed_documents)

    @cache
    def full_context(place: int) -> int:
        return max(1, estimate_tokens(transcript(known_turns(*asked[place]))))

    rows: list[Row | None] = []
    for answer, (text, gold), cosine in zip(answers, pairs, cosines, strict=True):
        if answer.failure is not None:
            rows.append(None)
            continue
        question = asked[answer.place][1]
        rouge2, rouge_l = metrics.rouge(text, gold)
        ranks = metrics.ranks_of(question.evidence, answer.turns)
        rows.append(
            {
                "f1": metrics.f1(text, gold),
                "bleu1": metrics.bleu1(text, gold),
                "f1_official": metrics.f1_official(text, gold, question.category),
                "rouge2": rouge2,
                "rougeL": rouge_l,
                "similarity": cosine,
                "recall": metrics.recall(ranks, len(answer.turns)),
                "all": metrics.all_evidence(ranks, len(answer.turns)),
                "tokens": float(answer.tokens),
                "share": answer.tokens / full_context(answer.place),
            }
        )
    return rows
