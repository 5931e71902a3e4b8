"""What comparing statements needs to know of a language, as `languages.toml` lists it.

Function words, opposites, words that say the same, verbs and nouns that take one value at a time,
and how somebody corrects what was said. Words are without case and accents (`plain`).
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path

from amem_integrations.analysts import lexicon, words
from amem_integrations.analysts.date_words import any_of

_TOML: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
LANGUAGES = tuple(_TOML)
# These stand for themselves in any Chinese text; other single signs are parts of words.
_SINGLE_SIGNS = "我你您他她是叫的很在不没未无也都还了着最"


class Language:
    """The words of one language, each in its folded form."""

    def __init__(self, name: str) -> None:
        lists = _TOML[name]
        self.name = name
        self.denials = frozenset(lists["denials"].split())
        self.empty = frozenset(lists["empty"].split())
        self.copulas = frozenset(lists["copulas"].split())
        self.plural = frozenset(lists["plural"].split())
        self.unsure = frozenset(lists["unsure"].split())
        self._single = tuple(lists["single"].split())
        self._roles = tuple(lists["roles"].split())
        self._several = frozenset(map(self.stem, lists["several"].split()))
        self._roots = dict(pair.split(":") for pair in lists["roots"].split())
        self.persons = {
            word: line.split()[0] for line in lists["persons"].strip().splitlines()
            for word in line.split()
        }  # fmt: skip
        # The first two lines are who speaks, and to whom.
        self.speakers = tuple(dict.fromkeys(self.persons.values()))[:2]
        self._alike = {
            word: line.split()[0] for line in lists["alike"].strip().splitlines()
            for word in line.split()
        }  # fmt: skip
        self.signs: dict[str, tuple[str, int]] = {}
        for line in filter(None, lists["opposites"].strip().splitlines()):
            left, right = (part.split() for part in line.split("+"))
            self.signs |= dict.fromkeys(left, (left[0], 1))
            self.signs |= dict.fromkeys(right, (left[0], -1))
        self.numbers = {
            word: number
            for number, alternatives in enumerate(lists["numbers"].split(","), 2)
            for word in alternatives.split()
        }
        tens = {word.strip(): 10 * n for n, word in enumerate(lists["tens"].split(","), 3)}
        self.numbers |= {word: number for word, number in tens.items() if word}
        self.ordinals = [
            (word.strip(), n) for n, word in enumerate(lists["ordinals"].split(","), 2) if word
        ]
        lines = lists["phrases"].strip().splitlines()
        pairs = {old: new for old, _, new in (line.partition(" = ") for line in lines)}
        denying = [each.strip() for each in lists["denying"].split(",") if each.strip()]
        denial = next(iter(lists["denials"].split()))
        self.phrases = pairs | dict.fromkeys(denying, denial)
        self.phrase = re.compile(rf"\b(?:{any_of(map(re.escape, self.phrases)) or '(?!)'})\b")
        self.fillers = re.compile(lists["fillers"])
        self.corrections = re.compile(lists["corrections"])
        self.events = [re.compile(part) for part in lists["events"].split(" && ")]
        but, *joints = (word.strip() for word in lists["joints"].split(","))
        alone = rf"|\b{but}\b" if name != "zh" else ""
        self.joints = re.compile(rf"[,，] ?(?:{any_of([but, *joints])})(?![a-z]){alone}")

    def stem(self, word: str) -> str:
        """Return a word without the endings that number, gender and tense give it."""
        if self.name == "en":
            word = words.fold(word)
            for end in ("ing", "ed", "e"):
                if len(word) - len(end) > 2 and word.endswith(end):
                    return word[: -len(end)]
            return word
        if self.name == "zh":
            return word
        ends = "aoesr" if self.name in ("es", "fr") else "enstrm"
        least = len(word) - 3
        while len(word) > max(3, least) and word[-1] in ends:
            word = word[:-1]
        return word

    def is_event(self, text: str) -> bool:
        """Return whether a text in lower case tells what happened once."""
        return all(pattern.search(text) for pattern in self.events)

    def is_single(self, word: str) -> bool:
        """Return whether a verb has one object at a time."""
        if self.name == "en" and word.endswith("ing"):
            return False
        if self.name in ("en", "zh"):
            return word in self._single or self.stem(self._roots.get(word, word)) in self._stems
        return any(word.startswith(v) and len(word) - len(v) <= 4 for v in self._single)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(self.stem(word) for word in self._single if not word.endswith("ed"))

    def is_role(self, word: str) -> bool:
        return any(
            word.startswith(role[:-1]) if role.endswith("*") else word == role
            for role in self._roles
        )

    def is_several(self, word: str) -> bool:
        return self.stem(word) in self._several

    def entry(self, word: str) -> tuple[str, str, int]:
        """Return the key, kind and sign of a telling word."""
        found = self.signs.get(word) or (self._signed.get(self.stem(word)) if word[4:] else None)
        if found:
            return found[0], "", found[1]
        if (number := self._number(word)) is not None:
            return number, "number", 1
        root = self._alike.get(word) or self._alike.get(self._roots.get(word, ""))
        stem = self.stem(self._roots.get(word, word))
        return self._alike.get(stem, stem) if root is None else root, "", 1

    @cached_property
    def _signed(self) -> Mapping[str, tuple[str, int]]:
        return {self.stem(word): found for word, found in self.signs.items() if word[4:]}

    def _number(self, word: str) -> str | None:
        if word in self.numbers:
            return str(self.numbers[word])
        for ordinal, number in self.ordinals:
            if word == ordinal or (ordinal[-1] == "*" and word.startswith(ordinal[:-1])):
                return str(number)
        return None

    @cached_property
    def chinese(self) -> re.Pattern[str]:
        """What is known of Chinese, so that the segmenter sees only the rest."""
        known = {*self.denials, *self.empty, *self.copulas, *self._single, *self.signs,
                 *self._alike, *self.persons, *self._roles}  # fmt: skip
        listed = (word for word in known if len(word) > 1 or word in _SINGLE_SIGNS)
        return re.compile(any_of(listed))


@cache
def language(name: str) -> Language:
    return Language(name)


@lru_cache(maxsize=8192)
def entry(name: str, word: str) -> tuple[str, str, int]:
    return language(name).entry(word)


@lru_cache(maxsize=8192)
def functions(name: str, word: str) -> tuple[bool, bool, bool]:
    """Return whether a word is a verb of one object, a role, or somebody of several."""
    known = language(name)
    return known.is_single(word), known.is_role(word), known.is_several(word)


def language_of(*texts: str) -> Language:
    """Return the language of short texts, English in doubt."""
    text = " ".join(texts)
    if words.is_chinese(text):
        return language("zh")
    folded = set(re.findall(r"[^\W\d_]+", plain(text)))
    counts = {name: len(folded & _function_words(name)) for name in ("en", "de", "es", "fr")}
    return language(max(counts, key=counts.__getitem__))


@cache
def _function_words(name: str) -> frozenset[str]:
    known = language(name)
    stop = {plain(word) for word in lexicon.STOP[name]}
    return frozenset(stop | known.denials | known.persons.keys() | known.numbers.keys())


def plain(text: str) -> str:
    """Return a text in lower case without accents, sign by sign: places stay the same."""
    if text.isascii():
        return text.lower()
    return "".join(map(_plain_sign, text))


@lru_cache(maxsize=4096)
def _plain_sign(sign: str) -> str:
    return unicodedata.normalize("NFD", sign)[0].lower()[:1]
