"""Measures of rankings and of answers, and means over questions with bootstrap intervals.

Ranks count from 1; evidence that was not found has rank None. Measures of answers are those of
the A-Mem paper and LoCoMo's own F1: between 0 and 1 (a cosine may be below), and 0 for an empty
answer. They need the extra `eval`.
"""

import random
import re
import statistics
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import log2
from typing import Any, cast

from amem_integrations._lazy import import_library
from amem_integrations.core.engine import Vector

library = partial(import_library, extra="eval")
Ranks = tuple[int | None, ...]
"""The rank of each turn of the evidence, None where it was not found."""


def ranks_of(evidence: Sequence[str], ranking: Sequence[str]) -> Ranks:
    """Return the ranks of `evidence` in `ranking`, best first; a repeated id counts once."""
    places: dict[str, int] = {}
    for place, id in enumerate(ranking, 1):
        places.setdefault(id, place)
    return tuple(map(places.get, evidence))


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of the evidence among the first `k`."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def all_evidence(ranks: Ranks, k: int) -> float:
    """Return 1 if all of the evidence is among the first `k`, else 0."""
    return float(recall(ranks, k) == 1.0)


def reciprocal_rank(ranks: Ranks) -> float:
    """Return 1 / the rank of the first evidence, 0 if none was found."""
    return 1 / min((rank for rank in ranks if rank is not None), default=float("inf"))


def ndcg(ranks: Ranks, k: int) -> float:
    """Return the discounted gain of the first `k` over the best possible one."""
    gain = sum(1 / log2(rank + 1) for rank in ranks if rank is not None and rank <= k)
    return gain / sum(1 / log2(place + 1) for place in range(1, min(len(ranks), k) + 1))


def rank_scores(ranks: Ranks, cutoffs: Sequence[int]) -> Mapping[str, float]:
    """Return every measure of a ranking by its name."""
    return {
        **{f"recall@{k}": recall(ranks, k) for k in cutoffs},
        "mrr": reciprocal_rank(ranks),
        "ndcg@10": ndcg(ranks, 10),
        "all@10": all_evidence(ranks, 10),
    }


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean over `count` questions, and the ends of its 95% interval.

    low, high: None if the questions come from a single conversation, which shows no spread.
    """

    mean: float
    low: float | None
    high: float | None
    count: int


class Resampling:
    """Bootstrap over conversations, with the same draws for every estimate.

    Questions of one conversation are alike, so drawing questions would promise too much.
    """

    def __init__(self, conversations: int, *, resamples: int = 2000, seed: int = 20_26) -> None:
        draw = random.Random(seed).choices
        self._draws = [draw(range(conversations), k=conversations) for _ in range(resamples)]

    def estimate(self, values: Sequence[Sequence[float]]) -> Estimate | None:
        """Return the mean of the values of each conversation's questions; None without any."""
        sums, counts = list(map(sum, values)), list(map(len, values))
        if not sum(counts):
            return None
        mean = sum(sums) / sum(counts)
        if sum(map(bool, counts)) < 2:
            return Estimate(mean, None, None, sum(counts))
        means = [
            sum(sums[place] for place in drawn) / total
            for drawn in self._draws
            # A draw may have no conversation with such questions.
            if (total := sum(counts[place] for place in drawn))
        ]
        # Cut in 40, the first and the last cut are 2.5% from the ends.
        cuts = statistics.quantiles(means, n=40, method="inclusive")
        return Estimate(mean, cuts[0], cuts[-1], sum(counts))


_AUTHORS = str.maketrans(dict.fromkeys(".,!?", " "))
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
# Han, kana and what fills their lines: written without blanks, a character is a word.
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ffff]")
_WIDE = str.maketrans("，。！？；：、（）", ",.!?;:,()")
_ABSTAINS = ("no information available", "not mentioned", "没有提到", "未提及")


def f1(answer: str, gold: str) -> float:
    """F1 as A-Mem's authors: of the two sets of words, in lower case, without . , ! ?"""
    words, right = (
        set(_spell(text).lower().translate(_AUTHORS).split()) for text in (answer, gold)
    )
    return _harmonic(len(words & right), len(words), len(right))


def f1_official(answer: str, gold: str, category: str) -> float:
    """F1 as LoCoMo's authors (Maharana et al., 2024): repeated words count, stemmed, no articles.

    A multi-hop answer is a list at its commas; each part of the gold is compared with the part
    nearest to it. For an open-domain question, only the gold before its first semicolon counts;
    for an adversarial one, whether the answer abstains.
    """
    if category == "adversarial":
        return float(abstains(answer))
    if category == "open-domain":
        gold = gold.split(";")[0]
    if category != "multi-hop":
        return _f1_of_stems(answer, gold)
    parts, golds = (_spell(text).split(",") for text in (answer, gold))
    return statistics.fmean(max(_f1_of_stems(part, gold) for part in parts) for gold in golds)


def abstains(answer: str) -> bool:
    """Return whether the answer says that the conversation does not tell."""
    return any(phrase in answer.lower() for phrase in _ABSTAINS)


def bleu1(answer: str, gold: str) -> float:
    """BLEU of single words with brevity penalty, smoothed by NLTK's method 1, in lower case.

    Words are NLTK's, but not split into sentences first, which would need data that NLTK
    downloads: a full stop within a text stays with its word.
    """
    words, right = _words(answer), _words(gold)
    if not words or not right:
        return 0.0
    bleu = library("nltk.translate.bleu_score")
    return float(bleu.sentence_bleu([right], words, (1, 0, 0, 0), bleu.SmoothingFunction().method1))


def rouge(answer: str, gold: str) -> tuple[float, float]:
    """F-measures of ROUGE-2 and ROUGE-L, with stemming, by rouge-score."""
    if not answer.strip():
        return 0.0, 0.0
    scores = _rouge_scorer().score(_spell(gold), _spell(answer))
    return scores["rouge2"].fmeasure, scores["rougeL"].fmeasure


def similarities(
    pairs: Sequence[tuple[str, str]], embed: Callable[[list[str]], list[Vector]]
) -> list[float]:
    """Return the cosine of each answer and gold by an embedder; each text is embedded once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair if text.strip()))
    vectors = dict(zip(texts, embed(texts), strict=True)) if texts else {}
    return [
        _cosine(vectors[answer], vectors[gold]) if answer in vectors and gold in vectors else 0.0
        for answer, gold in pairs
    ]


def _f1_of_stems(answer: str, gold: str) -> float:
    words, right = Counter(_stems(answer)), Counter(_stems(gold))
    return _harmonic((words & right).total(), words.total(), right.total())


def _stems(text: str) -> list[str]:
    plain = _spell(text).lower().translate(_PUNCTUATION)
    return [_stemmer().stem(word) for word in _ARTICLES.sub(" ", plain).split()]


def _harmonic(same: int, answered: int, right: int) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * same / (answered + right) if same else 0.0


def _spell(text: str) -> str:
    """Turn ideographs into words that every measure keeps; other text stays as it is."""
    if not _IDEOGRAPH.search(text):
        return text
    return _IDEOGRAPH.sub(lambda found: f" u{ord(found[0])} ", text.translate(_WIDE))


def _words(text: str) -> list[str]:
    return cast("list[str]", _tokenizer().tokenize(_spell(text).lower()))


@cache
def _tokenizer() -> Any:
    return library("nltk.tokenize").NLTKWordTokenizer()


@cache
def _stemmer() -> Any:
    return library("nltk.stem").PorterStemmer()


@cache
def _rouge_scorer() -> Any:
    scorer = library("rouge_score.rouge_scorer")
    return scorer.RougeScorer(["rouge2", "rougeL"], use_stemmer=True)


def _cosine(one: Vector, other: Vector) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    norm = sum(a * a for a in one) * sum(b * b for b in other)
    return dot / norm**0.5 if norm else 0.0
