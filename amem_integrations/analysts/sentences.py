"""Sentences of a turn, and where its ideas begin.

An idea begins where words announce a new matter. Two telling sentences without a common word may
be two ideas, and mostly are one: that is for a model to say.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from amem_integrations.analysts import words
from amem_integrations.analysts.note_types import classify_small_talk, is_small_talk
from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.words import NAME, TELLING
from amem_integrations.core.values import is_blank

# The most ideas of a turn, and the most sentences of it.
MAX_IDEAS = 8
MAX_SENTENCES = 64
# A turn outside of these lengths holds one idea, unless one is announced; a Chinese sign is three.
MIN_CHARS, MAX_CHARS = 60, 2_000
# The mass on both sides: one telling word where a new matter is announced, else two.
ANNOUNCED_MASS, IDEA_MASS = 1.0, 2.0
# Sentences at least this near to each other are of one matter.
NEAR = 0.15

_END = re.compile(
    r"""(?P<stop>[.!?]{1,8}["'”’)\]]{0,4}(?=\s)|[。！？…؟۔।॥]+[”’」』）"]*)\s*|(?P<line>\n\s*)"""
)
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|vs|No|Prof|approx|e\.g|i\.e|etc)|\b[A-Z])\.$")
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_CODE = re.compile(r"(?:[{};]|=>|->)\s*$|^\s*(?:def|class|import|from|return|at|File|Traceback)\b")
_ANNOUNCED = re.compile(
    r"(?:(?:oh|and|so|also|anyway)\b,? )*"
    r"(?:by the way|btw|fyi|(?:an)?other thing|one more thing|(?:on|in) (?:an)?other (?:note|news)"
    r"|on a different note|unrelated(?: to this)?|separately|changing the subject|p\.?s\b"
    r"|anyways?,|speaking of something else)"
    r"|另外|对了|對了|顺便|順便|还有(?:一件|件|个|，|,)|另一件|换个话题|題外話|题外话",
    re.IGNORECASE,
)
# Words at the beginning that lean on what was said before.
_LEANING = re.compile(
    r"(?:it|its|it['’]s|that|that['’]s|this|these|those|they|them|he|she|him|her|his|their|there"
    r"|then|so|because|but|and|or|though|although|however|otherwise|instead|especially|plus|both"
    r"|one|same|such|if|when|while|since|still|yet|only|just|even|too|either|neither|which|who"
    r"|not|no|yes|for example|e\.g|actually|maybe|perhaps|hopefully|first|second|finally|next)\b"
    r"|[它他她]|[这那此]|所以|因为|但是?|不过|然后|而且|而|如果|比如|例如|就|也|还|都|其实|特别|只是|于是|结果|否则|不然",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """text[start:end] of a turn, without the blanks around it.

    keys: the folded words that tell what it is about. mass: what they weigh together.
    announces: whether it begins with words for a new matter. leans: with words that refer to
        what was said before.
    """

    start: int
    end: int
    text: str
    keys: frozenset[str]
    mass: float
    announces: bool
    leans: bool


def split_sentences(text: str, corpus: Corpus, names: Collection[str] = ()) -> list[Sentence]:
    """Return the sentences of a text, in order, without blanks between them.

    A piece of code belongs to the sentence before it. names: folded names of those who talk.
    """
    return [_sentence(text, start, end, corpus, names) for start, end in _spans(text)]


def sentence_texts(text: str) -> list[str]:
    """Return the texts of the sentences, in order."""
    return [text[start:end] for start, end in _spans(text)]


def idea_starts(parts: Sequence[Sentence]) -> list[int]:
    """Return the sentences with which an idea begins: the first, and those that announce one.

    There must be telling words on both sides.
    """
    starts, mass = [0], 0.0
    for at, part in enumerate(parts):
        rest = sum(each.mass for each in parts[at : at + 3])
        if part.announces and mass >= ANNOUNCED_MASS and rest >= ANNOUNCED_MASS:
            starts.append(at)
            mass = 0.0
        mass += part.mass
    return starts[:MAX_IDEAS]


def unrelated_pairs(parts: Sequence[Sentence]) -> list[tuple[int, int]]:
    """Return pairs of telling neighbour sentences without a word in common up to there.

    An idea ends between them about one time in four.
    """
    if not has_room(parts):
        return []
    found: list[tuple[int, int]] = []
    said = frozenset[str]()
    for at, part in enumerate(parts[1:], start=1):
        before = parts[at - 1]
        said |= before.keys
        telling = min(before.mass, part.mass) >= IDEA_MASS
        if telling and not part.leans and said.isdisjoint(part.keys):
            found.append((at - 1, at))
    return found


def has_room(parts: Sequence[Sentence]) -> bool:
    """Return whether a turn is long enough for several ideas, and not a whole text."""
    if len(parts) < 2:
        return False
    size = parts[-1].end - parts[0].start
    wide = sum(sign >= "\u3000" for part in parts for sign in part.text[:MIN_CHARS])
    return size + 2 * wide >= MIN_CHARS and size <= MAX_CHARS


def weigh_words(
    text: str, corpus: Corpus, names: Collection[str] = ()
) -> tuple[frozenset[str], float]:
    """Return the telling words of a text, and their mass: shape × rarity, each counted once."""
    weights: dict[str, float] = {}
    for word in words.words_of(text, corpus.names):
        if word.weight >= TELLING and word.key not in names and not is_small_talk(word.key):
            weights[word.key] = min(word.weight, NAME) * corpus.rarity(word.key)
    return frozenset(weights), sum(weights.values())


def _sentence(text: str, start: int, end: int, corpus: Corpus, names: Collection[str]) -> Sentence:
    piece = text[start:end]
    keys, mass = weigh_words(piece, corpus, names)
    if classify_small_talk(piece, names):
        mass = 0.0
    leans = bool(_LEANING.match(piece)) or bool(_CODE.search(piece))
    return Sentence(start, end, piece, keys, mass, bool(_ANNOUNCED.match(piece)), leans)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence begins and ends, without the blanks around it."""
    cuts = _cuts(text)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        piece = text[start:end]
        stripped = piece.strip()
        if not is_blank(stripped):
            begin = start + len(piece) - len(piece.lstrip())
            yield begin, begin + len(stripped)


def _cuts(text: str) -> list[int]:
    """Return where sentences begin, but the first."""
    head = text[: words.MAX_TEXT_CHARS]
    fences = [match.span() for match in _FENCE.finditer(head)]
    cuts: list[int] = []
    begin = 0
    for match in _END.finditer(head):
        at = match.end()
        if at >= len(head) or len(cuts) + 1 == MAX_SENTENCES:
            continue
        # The last fence that begins by here, if the text is within it or comes to it.
        fence = bisect_right(fences, at, key=itemgetter(0)) - 1
        if fence >= 0 and (match.start() < fences[fence][1] or at == fences[fence][0]):
            continue
        following = head[at]
        if match["stop"] and head[match.start()] in ".!?":
            if following.islower() or _ABBREVIATION.search(head[begin : match.end("stop")]):
                continue
        elif match["line"] and following.islower():
            continue
        cuts.append(at)
        begin = at
    return cuts
