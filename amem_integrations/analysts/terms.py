"""Terms: the words and phrases that carry a text, by frequency, rarity and shape."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import log
from typing import NamedTuple

from amem_integrations.analysts.words import (
    DERIVED,
    GERUND,
    MAX_TEXT_CHARS,
    NAME,
    NAMES,
    POSSESSIVE,
    TELLING,
    Word,
    fold,
    keys,
    words_of,
)

MAX_BACKGROUND_CHARS = 2_000
MAX_PHRASE_WORDS = 3
MAX_PHRASE_CHARS = 60

# This many terms are found if need be among weak words.
_FEW = 3
_SIGN = re.compile(
    r"[\U0001f1e6-\U0001f1ff]{2}|[^\w\s\x00-\x7f](?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d.)*"
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase as first written, the words it is made of, and its score."""

    text: str
    words: tuple[Word, ...]
    score: float

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(word.key for word in self.words)

    @property
    def label(self) -> str:
        """As a tag has it."""
        first, *more = self.words
        return self.text if more else first.label


class Vocabulary(NamedTuple):
    """The folded words of a text, and those of them that are names there."""

    keys: frozenset[str]
    names: frozenset[str]


def vocabulary_of(text: str) -> Vocabulary:
    """Return the vocabulary of the beginning of `text`."""
    text = text[:MAX_BACKGROUND_CHARS]
    return Vocabulary(keys(text), frozenset(map(fold, NAMES.findall(text))))


class Corpus:
    """Statistics of some texts: how many have each word, and which words are names.

    texts: each as it is, or its vocabulary.
    """

    def __init__(self, texts: Iterable[str | Vocabulary]) -> None:
        read = [vocabulary_of(each) if isinstance(each, str) else each for each in texts]
        self.size = len(read)
        self.frequency = Counter(chain.from_iterable(each.keys for each in read))
        self.names = frozenset[str]().union(*(each.names for each in read))
        self._last: tuple[str, list[Word]] = ("", [])

    def words_of(self, text: str) -> list[Word]:
        """Return `words.words_of` the text with the names of the corpus; the last is kept."""
        known, found = self._last
        if known != text:
            found = words_of(text, self.names)
            self._last = text, found
        return found

    def rarity(self, key: str) -> float:
        """Return the smoothed IDF, in [0, 1]: 1 for a word that at most one text has.

        It counts eight more texts without the word, so that two texts alone make nothing common.
        """
        total = self.size + 9
        return min(1.0, log(total / (self.frequency[key] + 0.5)) / log(total / 1.5))


def salient(
    text: str, corpus: Corpus, *, without: frozenset[str] = frozenset(), limit: int
) -> list[Term]:
    """Return the terms that carry `text` best, most salient first, none nearly repeating another.

    Weak ones come in only to make up three. `without`: keys of which alone no term consists,
    such as the speaker's name.
    """
    text = text[:MAX_TEXT_CHARS]
    counts: Counter[tuple[str, ...]] = Counter()
    best: dict[tuple[str, ...], Term] = {}
    for span in _phrases(corpus.words_of(text), without):
        phrase = tuple(word.key for word in span)
        counts[phrase] += 1
        strength = _strength(span, corpus)
        if phrase not in best or strength > best[phrase].score:
            surface = _surface(text[span[0].start : span[-1].end])
            best[phrase] = Term(surface, tuple(span), strength)
    ranked = sorted(
        (replace(term, score=term.score * (1 + log(counts[key]))) for key, term in best.items()),
        key=lambda term: (-term.score, term.words[0].start, len(term.words)),
    )
    chosen: list[Term] = []
    for term in ranked:
        if len(chosen) == limit or (term.score < TELLING and len(chosen) >= _FEW):
            break
        if term.score and not any(_nearly_same(term.keys, other.keys) for other in chosen):
            chosen.append(term)
    return chosen


def telling(text: str, corpus: Corpus, *, without: frozenset[str], limit: int) -> list[Word]:
    """Return the single words that say most about `text`, rarest and strongest first."""
    found: dict[str, Word] = {}
    for word in corpus.words_of(text[:MAX_TEXT_CHARS]):
        if word.weight >= TELLING and word.key not in without:
            found.setdefault(word.key, word)
    return sorted(
        found.values(), key=lambda word: (-word.weight * corpus.rarity(word.key), word.start)
    )[:limit]


def symbols(text: str, limit: int) -> list[str]:
    """Return the distinct signs of a text without words, such as emoji, in order."""
    signs = (sign for sign in _SIGN.findall(text[:1000]) if unicodedata.category(sign[0]) == "So")
    return list(dict.fromkeys(signs))[:limit]


def _phrases(sequence: Sequence[Word], without: frozenset[str]) -> Iterable[Sequence[Word]]:
    """Yield runs of one to three words that neither begin nor end in a word without weight."""
    for first, word in enumerate(sequence):
        if not word.weight:
            continue
        for last in range(first, min(first + MAX_PHRASE_WORDS, len(sequence))):
            tail = sequence[last]
            if not tail.weight or (last > first and not _continues(sequence[last - 1], tail)):
                break
            if tail.end - word.start > MAX_PHRASE_CHARS:
                break
            span = sequence[first : last + 1]
            if tail.number or (last > first and tail.weight == DERIVED):
                continue
            if all(part.key in without or part.number for part in span):
                continue
            yield span


def _continues(word: Word, following: Word) -> bool:
    """Return whether two words can be one phrase: adjacent, and no name after a plain word."""
    return following.joins and not (following.weight == NAME and word.weight < NAME)


def _strength(span: Sequence[Word], corpus: Corpus) -> float:
    """Return how well a phrase stands for the text: shape × rarity, and a prize for length."""
    if len(span) > 1 and max(word.weight for word in span) < GERUND:
        return 0.0
    values = [word.weight * (0.25 + 0.75 * corpus.rarity(word.key)) for word in span]
    prize = 1 + 0.15 * len(span) if len(span) > 1 else 1
    return sum(values) / len(values) * prize


def _nearly_same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    common = set(one) & set(other)
    return bool(common) or any(a in b or b in a for a in one for b in other if len(a) * len(b) > 6)


def _surface(text: str) -> str:
    return POSSESSIVE.sub("", " ".join(text.split()))
