"""Where one idea of a turn ends and the next begins: sentences, and groups of them.

Everything is a stretch of the text itself. A border needs a reason: words that announce a new
matter, or two sentences that both say something and have nothing in common. In doubt there is
none. `formation.weave` calls this, with vectors of the sentences where words leave it open.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from amem_integrations.models import words
from amem_integrations.models.courtesy import courtesy, is_courteous
from amem_integrations.models.terms import Corpus
from amem_integrations.models.words import NAME, TELLING

# So many notes come of a turn at most; and so many sentences of it are looked at.
MAX_IDEAS = 8
MAX_SENTENCES = 64
# A turn shorter than this holds one idea; a Chinese sign counts as three characters.
MIN_SPLIT_CHARS = 60
# What a sentence must say by itself to be an idea: the weight of two telling words.
IDEA_MASS = 2.0
# Sentences this near to each other are of one matter; within the margin that is in doubt.
NEAR, MARGIN = 0.2, 0.1

_END = re.compile(
    r"""(?P<stop>[.!?]+["'”’)\]]*(?=\s)|[。！？…]+[”’」』）"]*)\s*|(?P<line>[ \t\r]*\n\s*)"""
)
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|vs|No|Prof|approx|e\.g|i\.e|etc)|\b[A-Z])\.$")
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_CODE = re.compile(r"(?:[{};]|=>|->)\s*$|^\s*(?:def|class|import|from|return|at|File|Traceback)\b")
_ANNOUNCED = re.compile(
    r"(?:by the way|btw|another thing|one more thing|on another note|on a different note|other"
    r" than that|in other news|unrelated(?: to this)?|separately|changing the subject|p\.?s\.?"
    r"|also, (?=[a-z]+ )|less good|and another)\b"
    r"|另外|对了|對了|顺便|順便|还有(?:一|件|个|，|,|：)|再说一|另一件|换个话题|題外話|题外话",
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
    """

    start: int
    end: int
    text: str
    keys: frozenset[str]
    mass: float
    announced: bool
    leans: bool


@dataclass(frozen=True, slots=True)
class Border:
    """Where an idea may end: before the sentence `at`, unless that is near to the one before.

    known: words alone decide it, whatever the vectors say.
    """

    at: int
    known: bool


def sentences(text: str, corpus: Corpus, names: Collection[str] = ()) -> list[Sentence]:
    """The sentences of a text, in order; all of it that is not blank lies in one of them.

    A piece of code belongs to the sentence before it. names: folded names of those who talk.
    """
    cuts = _cuts(text)
    spans = zip([0, *cuts], [*cuts, len(text)], strict=True)
    found = [_sentence(text, start, end, corpus, names) for start, end in spans]
    return [sentence for sentence in found if sentence is not None]


def borders(parts: Sequence[Sentence]) -> list[Border]:
    """Where words let one idea end and another begin."""
    whole = parts[-1].end - parts[0].start if parts else 0
    wide = sum(len(part.text) + 2 * sum(map(_is_wide, part.text[:200])) for part in parts)
    if len(parts) < 2 or max(whole, wide) < MIN_SPLIT_CHARS:
        return []
    found: list[Border] = []
    said: frozenset[str] = frozenset()
    mass = 0.0
    for at, part in enumerate(parts):
        apart = mass >= IDEA_MASS and _rest_mass(parts, at) >= IDEA_MASS
        strange = part.mass >= IDEA_MASS and not part.leans and said.isdisjoint(part.keys)
        if apart and (part.announced or strange):
            found.append(Border(at, known=part.announced))
            said, mass = frozenset(), 0.0
        said, mass = said | part.keys, mass + part.mass
    return found


def ideas(
    parts: Sequence[Sentence], found: Sequence[Border], near: Callable[[int, int], float]
) -> tuple[list[tuple[int, int]], bool]:
    """The ideas as ranges of sentences, and whether one of the borders was a near thing.

    near: the cosine of two sentences, by their places.
    """
    starts, doubtful = [0], False
    for border in found:
        nearest = (
            -1.0
            if border.known
            else max(near(border.at, each) for each in range(starts[-1], border.at))
        )
        if nearest < NEAR:
            starts.append(border.at)
        doubtful = doubtful or abs(nearest - NEAR) < MARGIN
    starts = starts[:MAX_IDEAS]
    return list(zip(starts, [*starts[1:], len(parts)], strict=True)), doubtful


def mass_of(text: str, corpus: Corpus, names: Collection[str] = ()) -> tuple[frozenset[str], float]:
    """The telling words of a text, and what they weigh: shape × rarity, each counted once."""
    weights: dict[str, float] = {}
    for word in words.words_of(text, corpus.names):
        if word.weight >= TELLING and word.key not in names and not is_courteous(word.key):
            weights[word.key] = min(word.weight, NAME) * corpus.rarity(word.key)
    return frozenset(weights), sum(weights.values())


def _rest_mass(parts: Sequence[Sentence], at: int) -> float:
    return sum(part.mass for part in parts[at : at + 3])


def _is_wide(sign: str) -> bool:
    return sign >= "\u3000"


def _sentence(
    text: str, start: int, end: int, corpus: Corpus, names: Collection[str]
) -> Sentence | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    begin = start + len(piece) - len(piece.lstrip())
    keys, mass = mass_of(stripped, corpus, names)
    if courtesy(stripped, names):
        mass = 0.0
    return Sentence(
        start=begin,
        end=begin + len(stripped),
        text=stripped,
        keys=keys,
        mass=mass,
        announced=bool(_ANNOUNCED.match(stripped)),
        leans=bool(_LEANING.match(stripped)) or bool(_CODE.search(stripped)),
    )


def _cuts(text: str) -> list[int]:
    """Where sentences begin, but the first."""
    head = text[: words.MAX_TEXT_CHARS]
    fences = [match.span() for match in _FENCE.finditer(head)]
    cuts: list[int] = []
    begin = 0
    for match in _END.finditer(head):
        at = match.end()
        if at >= len(head) or len(cuts) + 1 == MAX_SENTENCES:
            continue
        if any(start <= match.start() < end or at == start for start, end in fences):
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
