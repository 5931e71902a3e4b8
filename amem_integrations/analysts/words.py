"""Words of a text in any language: where they begin and end, and how much each can say.

It knows scripts, stop words and shapes (names, numbers, identifiers), no statistics.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from amem_integrations.analysts import lexicon

MAX_TEXT_CHARS = 65_536

# How much a word can carry alone, by its shape.
IDENTIFIER, NAME, PLAIN, NUMERAL = 1.8, 1.5, 1.0, 0.8
GERUND, TELLING, DERIVED, WEAK = 0.7, 0.5, 0.4, 0.25

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HIRAGANA = "\u3041-\u309f"
# Scripts written without spaces: Thai, Lao, Tibetan, Burmese, Khmer.
_UNSPACED = "\u0e01-\u0e4e\u0e81-\u0ece\u0f20-\u0fbc\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
# Combining marks, which `\w` leaves out and which stand inside words in many scripts.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03"
    "\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82"
    "\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57"
    "\u0d81-\u0d83\u0dca-\u0df3\u1a55-\u1a7f\u1ab0-\u1ace\u1b00-\u1b04\u1b34-\u1b44\u1dc0-\u1dff"
    "\u20d0-\u20f0\ua980-\ua983\ua9b3-\ua9c0\ufe20-\ufe2f\u200c\u200d"
)
_OTHER = f"{_HAN}{_KATAKANA}{_HIRAGANA}{_UNSPACED}"
_LETTERS = rf"[^\W{_OTHER}]+(?:[{_MARKS}]+[^\W{_OTHER}]*)*"
_TOKEN = re.compile(
    rf"https?://\S+|[{_HAN}]+|[{_KATAKANA}]+|[{_HIRAGANA}]+|[{_UNSPACED}]+"
    rf"|\d+(?:[.,:]\d+)+%?|{_LETTERS}(?:(?:['’-]|\.(?=[a-z0-9])){_LETTERS})*(?:\+\+|[#%])?"
)
_IS_HAN = re.compile(f"[{_HAN}]")
_IS_HIRAGANA = re.compile(f"[{_HIRAGANA}]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_IS_UNSPACED_OR_HAN = re.compile(f"[{_UNSPACED}{_HAN}]")
# Pieces of a run: Thai and Lao write some vowels first, and a syllable begins with them; no
# piece begins with a sign that belongs to the one before.
_FIRST_VOWELS = "\u0e40-\u0e44\u0ec0-\u0ec4"
_HANGING = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b6-\u17d3"
)
_PIECE = re.compile(f"[{_FIRST_VOWELS}]?[^{_FIRST_VOWELS}]{{1,20}}[{_HANGING}]*|[{_FIRST_VOWELS}]+")
_IS_HANGUL = re.compile("[\uac00-\ud7a3]")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_KANA = re.compile(f"[{_KATAKANA}{_HIRAGANA}]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:[.,]\d+)?%?")
_CLOCK = re.compile(r"\d{1,2}(?::\d{2}){1,2}|\d{4}-\d{1,2}-\d{1,2}|\d+(?:st|nd|rd|th)|\d+[ap]m")
_IDENTIFIER = re.compile(r"[^\W_]_[^\W_]|[a-z][A-Z]|[A-Z]{2}|[^\W\d]\d|\d[^\W\d_]|\w\.\w|\+\+$|#$")
_CONTRACTION = re.compile(r"(?:n['’]t|['’](?:m|re|ll|ve|d))$")
POSSESSIVE = re.compile(r"['’]s$")
# A capital where no sentence begins.
NAMES = re.compile(r"(?<=[a-z,] )[A-Z][\w-]+")
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "prof", "st", "vs", "no"})
_STOPS = ".!?\u2026\u3002\uff01\uff1f\u061f\u06d4\u0964\u0965"
_SENTENCE_END = re.compile(f"[{_STOPS};:\uff1b\uff1a\n]")


class Word(NamedTuple):
    """One word of a text.

    key: its folded form. weight: how much it can carry alone; 0 bounds phrases.
    joins: nothing but blanks stands between it and the word before.
    """

    key: str
    text: str
    start: int
    weight: float
    joins: bool
    number: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def label(self) -> str:
        """As a tag has it: a name as written, another word in its folded form."""
        return self.plain if self.weight >= NAME else self.key

    @property
    def plain(self) -> str:
        """As written, without a possessive ending."""
        return POSSESSIVE.sub("", self.text)


def keys(text: str) -> frozenset[str]:
    """Return the folded words of `text`, function words among them."""
    found: set[str] = set()
    japanese = bool(_KANA.search(text))
    for token in set(_TOKEN.findall(text)):
        if _IS_HAN.match(token) and not japanese:
            found.update(_segmenter().cut(token))
        elif _IS_UNSPACED.match(token):
            found.update(_PIECE.findall(token))
        else:
            found.add(fold(token))
    return frozenset(found)


def telling(text: str) -> set[str]:
    """Return the folded words of `text` that carry something alone."""
    return {word.key for word in words_of(text) if word.weight > 0}


def words_of(text: str, names: Collection[str] = ()) -> list[Word]:
    """Return the words of `text` in order, with how much each can carry.

    names: keys known as names, so that one is recognised where a sentence begins.
    Chinese is segmented by rjieba, Japanese where its scripts change, Thai and Lao before
    vowels that begin a syllable; of other scripts without spaces a run is one word.
    """
    return list(_words(text, names))


def _words(text: str, names: Collection[str] = ()) -> Iterator[Word]:
    # Terminal colours are no words; places in the text stay what they are.
    text = _ESCAPE.sub(lambda found: " " * len(found[0]), text[:MAX_TEXT_CHARS])
    japanese = bool(_KANA.search(text))
    tokens = list(_TOKEN.finditer(text))
    language = _language([token.group().casefold() for token in tokens])
    before: Word | None = None
    end = 0
    for token in tokens:
        start, surface = token.start(), token.group()
        gap = text[end:start]
        joins = before is not None and not gap.strip(" \u00a0")
        if _IS_HAN.match(surface) and not japanese:
            for before in _chinese(surface, start, joins):
                yield before
        elif _IS_UNSPACED.match(surface):
            for before in _pieces(surface, start):
                yield before
        else:
            opens = not before or (bool(_SENTENCE_END.search(gap)) and before.key not in _TITLES)
            word = _word(surface, start, joins, language, opens, names)
            if before and joins and before.number and word.key in lexicon.UNITS:
                word = word._replace(weight=PLAIN)
            before = word
            yield word
        end = token.end()


def is_chinese(text: str) -> bool:
    """Return whether most of `text` is Chinese; a Han sign says as much as four letters."""
    text = text[:1000]
    if _KANA.search(text):
        return False
    han = len(_IS_HAN.findall(text))
    return han > 0 and han >= sum(sign.isascii() and sign.isalpha() for sign in text) / 4


def language(text: str) -> str | None:
    """Return the language that at least two more function words are of than of any other."""
    counts = _function_words([token.casefold() for token in _TOKEN.findall(text)[:400]])
    (best, most), (_, second) = counts.most_common(2)
    return best if most >= second + 2 else None


def script(text: str) -> str:
    """Return the script of most of the first letters of `text`: "LATIN", "CJK", …"""
    letters = [sign for sign in text[:200] if sign.isalpha()]
    if sum(sign < "\u0250" for sign in letters) * 2 >= len(letters):
        return "LATIN"
    names = Counter(unicodedata.name(sign, "OTHER").split()[0] for sign in letters)
    return names.most_common(1)[0][0]


def occurring(wanted: Iterable[str], text: str, found: Collection[str] | None = None) -> set[str]:
    """Return the keys among `wanted` that occur in `text`.

    Segmentation depends on the words around, so keys of scripts without spaces are also looked
    for inside longer words.
    found: the keys of the text, if they are known.
    """
    if found is None:
        found = keys(text[:MAX_TEXT_CHARS])
    return {
        key
        for key in wanted
        if key in found or (len(key) > 1 and _IS_UNSPACED_OR_HAN.match(key) and key in text)
    }


def has_matter(text: str) -> bool:
    """Return whether any word of `text` says more than "ok" does."""
    return any(word.weight > WEAK for word in _words(text[:1000]))


def _word(
    surface: str,
    start: int,
    joins: bool,
    language: str,
    opens: bool,
    names: Collection[str],
) -> Word:
    key = fold(surface)
    stop = lexicon.STOP[language]
    number = bool(_NUMBER.fullmatch(surface))
    if number:
        weight = NUMERAL
    elif (
        surface.casefold() in stop
        or key in stop
        or key in lexicon.TIME
        or surface.startswith("http")
        or _CLOCK.fullmatch(key)
        or _CONTRACTION.search(surface)
        or _IS_HIRAGANA.match(surface)
    ):
        weight = 0.0
    else:
        weight = _shape(surface, key, opens and key not in names)
    if language != "en" or not surface.isascii():
        # Without knowing which words are verbs there, only names make a phrase.
        joins = joins and weight >= NAME
    return Word(key, surface, start, weight, joins, number)


def _shape(surface: str, key: str, opens: bool) -> float:
    if _IDENTIFIER.search(surface):
        return IDENTIFIER
    if len(surface) == 1:
        return 0.0 if surface.isascii() else WEAK
    if key in lexicon.COMMON:
        return WEAK
    if surface[0].isupper() and not opens:
        return NAME
    if key.isascii() and len(key) > 4 and key not in lexicon.NOT_ADVERBS:
        if key.endswith(("ly", "ed")):
            return DERIVED
        if key.endswith("ing"):
            return GERUND
    return PLAIN


def _chinese(run: str, start: int, joins: bool) -> Iterable[Word]:
    """Yield the words of a run of Han signs, weighed by their part of speech."""
    for surface, part in _segmenter().tag(run):
        yield Word(surface, surface, start, _chinese_weight(surface, part), joins)
        start, joins = start + len(surface), True


def _pieces(run: str, start: int) -> Iterable[Word]:
    for match in _PIECE.finditer(run):
        surface = match.group()
        weight = PLAIN if len(surface) > 3 else WEAK
        yield Word(surface, surface, start + match.start(), weight, joins=False)


def _chinese_weight(surface: str, part: str) -> float:
    if surface in lexicon.CHINESE_COMMON or surface in lexicon.TIME:
        return 0.0
    hollow = any(sign in lexicon.HOLLOW_CHINESE for sign in surface)
    if hollow and (len(surface) == 1 or not _segmenter().has_word(surface)):
        # What the segmenter glued together itself, such as "we come to order".
        return 0.0
    length = 1.0 if len(surface) > 1 else 0.4
    if part in ("nr", "ns", "nt", "nz") and _segmenter().has_word(surface):
        return NAME * length
    if part.startswith("n") or part in ("vn", "an", "i", "j"):
        return 1.1 * length
    if part in ("v", "a", "z", "b", "s") and len(surface) > 1 and surface[-1] not in "到了过着":
        return 0.55
    return 0.0


def fold(surface: str) -> str:
    """Return a word without case, plural, possessive and particles."""
    key = surface.casefold()
    if key.isascii():
        if key.endswith("'s"):
            key = key[:-2]
        if len(key) > 3 and key[-1] == "s" and key[-2] not in "su" and key.isalpha():
            if key.endswith("ies") and len(key) > 4:
                return key[:-3] + "y"
            if key.endswith(("ches", "shes", "xes", "sses", "atoes", "eroes", "etoes")):
                return key[:-2]
            if not key.endswith("is"):
                return key[:-1]
        return key
    if key.endswith("’s"):
        return fold(key[:-2])
    if _IS_HANGUL.match(key):
        for particle in lexicon.KOREAN_PARTICLES:
            if len(key) > len(particle) + 1 and key.endswith(particle):
                return key[: -len(particle)]
    return key


def _language(folded: Sequence[str]) -> str:
    """Return the language with the most function words among the words; English in doubt."""
    return _function_words(folded[:400]).most_common(1)[0][0]


def _function_words(folded: Sequence[str]) -> Counter[str]:
    """Return how many of the words are function words of each language."""
    return Counter(
        {name: sum(map(stop.__contains__, folded)) for name, stop in lexicon.STOP.items()}
    )


def segment(run: str) -> list[str]:
    """Return the words of a run of Han signs."""
    return list(_segmenter().cut(run)) if run else []


@cache
def _segmenter() -> Any:
    # Loads its dictionary (0.1–0.3 s) with the first Chinese text, and never without one.
    import rjieba

    return rjieba
