"""How near an answer is to the right one: the measures of the A-Mem paper, and LoCoMo's own F1.

All of them are between 0 and 1 (a cosine may be below), and 0 for an empty answer. Which text of
a question an answer is held against is decided in `scoring`. Needs the extra `eval`.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean
from typing import Any, cast

from amem_integrations.core.io import Vector
from amem_integrations.evaluation.qa.libraries import library
from amem_integrations.evaluation.qa.wordnet import MISSING, wordnet

_AUTHORS = str.maketrans(dict.fromkeys(".,!?", " "))
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
# Han, kana and what fills their lines: written without blanks, a character is a word.
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ffff]")
_WIDE = str.maketrans("，。！？；：、（）", ",.!?;:,()")
_ABSTAINS = ("no information available", "not mentioned", "没有提到", "未提及")


def f1(answer: str, gold: str) -> float:
    """As A-Mem's authors: the overlap of the two sets of words, in lower case, without . , ! ?"""
    said, right = (set(_spelt(text).lower().translate(_AUTHORS).split()) for text in (answer, gold))
    return _harmonic(len(said & right), len(said), len(right))


def f1_official(answer: str, gold: str, category: str) -> float:
    """As LoCoMo's authors (Maharana et al., 2024): repeated words count, stemmed, no articles.

    A multi-hop answer is a list at its commas, each part of the gold held against the part that
    is nearest to it. For an open-domain question, only the gold before its first semicolon
    counts; for an adversarial one, whether the answer abstains.
    """
    if category == "adversarial":
        return float(abstains(answer))
    if category == "open-domain":
        gold = gold.split(";")[0]
    if category != "multi-hop":
        return _f1_of_stems(answer, gold)
    said, right = (_spelt(text).split(",") for text in (answer, gold))
    return fmean(max(_f1_of_stems(each, part) for each in said) for part in right)


def abstains(answer: str) -> bool:
    """Whether it says that the conversation does not tell, in the words that LoCoMo asks for."""
    return any(said in answer.lower() for said in _ABSTAINS)


def bleu1(answer: str, gold: str) -> float:
    """BLEU of single words with brevity penalty, smoothed by NLTK's method 1, in lower case.

    Words are NLTK's, but not by sentences first, which would need data that NLTK downloads: a
    full stop within a text stays with its word.
    """
    said, right = _words(answer), _words(gold)
    if not said or not right:
        return 0.0
    bleu = library("nltk.translate.bleu_score")
    smoothing = bleu.SmoothingFunction().method1
    return float(bleu.sentence_bleu([right], said, (1, 0, 0, 0), smoothing))


def rouge(answer: str, gold: str) -> tuple[float, float]:
    """The F-measures of ROUGE-2 and ROUGE-L, with stemming, as rouge-score gives them."""
    if not answer.strip():
        return 0.0, 0.0
    scores = _rouge_scorer().score(_spelt(gold), _spelt(answer))
    return scores["rouge2"].fmeasure, scores["rougeL"].fmeasure


def meteor(answer: str, gold: str) -> float:
    """NLTK's METEOR over words at blanks, synonyms by WordNet.

    Raises LookupError where there is no WordNet.
    """
    known = wordnet()
    if known is None:
        raise LookupError(MISSING)
    said, right = _spelt(answer).split(), _spelt(gold).split()
    if not said or not right:
        return 0.0
    return float(library("nltk.translate.meteor_score").meteor_score([right], said, wordnet=known))


def similarities(
    pairs: Sequence[tuple[str, str]], embed: Callable[[list[str]], list[Vector]]
) -> list[float]:
    """The cosine of each answer and gold in the eyes of an embedder, each text embedded once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair if text.strip()))
    known = dict(zip(texts, embed(texts), strict=True)) if texts else {}
    return [
        _cosine(known[answer], known[gold]) if answer in known and gold in known else 0.0
        for answer, gold in pairs
    ]


def _f1_of_stems(answer: str, gold: str) -> float:
    said, right = Counter(_stems(answer)), Counter(_stems(gold))
    return _harmonic((said & right).total(), said.total(), right.total())


def _stems(text: str) -> list[str]:
    plain = _spelt(text).lower().translate(_PUNCTUATION)
    return [_stemmer().stem(word) for word in _ARTICLES.sub(" ", plain).split()]


def _harmonic(same: int, said: int, right: int) -> float:
    """The harmonic mean of precision and recall."""
    return 2 * same / (said + right) if same else 0.0


def _spelt(text: str) -> str:
    """Ideographs as words that every measure keeps; other text, and so English, as it is."""
    if not _IDEOGRAPH.search(text):
        return text
    return _IDEOGRAPH.sub(lambda found: f" u{ord(found[0])} ", text.translate(_WIDE))


def _words(text: str) -> list[str]:
    return cast("list[str]", _tokenizer().tokenize(_spelt(text).lower()))


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
