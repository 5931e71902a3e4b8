"""Where somebody lives: a statement that names the place, and a later one of having moved."""

import re
from dataclasses import dataclass
from functools import lru_cache

_PLACE = r"(?P<place>[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)*)"
_NOW = r"(?: (?:now|currently|just|recently|jetzt|nun|inzwischen|ahora|actualmente|maintenant))*"
# Something that is moved is no move: "we moved the meeting".
_OTHER = (
    "from von de not nicht the a an my our your his her it them us den das die el la los le les"
)
_BETWEEN = rf"(?: (?!(?:{_OTHER.replace(' ', '|')})\b)[\w'’-]+){{0,3}}?"
_ENGLISH = (
    r"(?P<who>\b(?:I|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|(?:[Mm]y|[Oo]ur) \w+|[A-Z]\w+))"
    r"(?:['’](?:ve|m|re|s)| have| has| am| are| is)?"
)
_GERMAN = r"(?P<who>\b(?:[Ii]ch|[Ww]ir|(?:[Mm]eine?|[Uu]nsere?) \w+|[A-ZÄÖÜ]\w+))"
_SPANISH = r"(?P<who>(?:\b(?:[Mm]i|[Nn]uestr[oa]) \w+ |\b[A-Z]\w+ )?)"
_FRENCH = r"(?P<who>\b(?:[Jj]['’]|[Jj]e |[Nn]ous |[Oo]n |(?:[Mm]on|[Mm]a|[Nn]otre) \w+ |[A-Z]\w+ ))"
_CHINESE = r"(?P<who>(?:我们|我)(?:的?(?:妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|父母|朋友|同事))?)"
_CHINESE_PLACE = r"(?P<place>[\u4e00-\u9fff]{2,3}?)(?=[的市了，。！,.!\s]|工作|生活|$)"
_LIVES = (
    rf"{_ENGLISH}{_NOW}(?: lives?| living| resides?){_NOW} in {_PLACE}",
    rf"{_GERMAN} (?:wohn|leb)(?:e|en|t){_NOW}(?: \w+)?? in {_PLACE}",
    rf"{_SPANISH}(?:[Vv]iv(?:o|imos|e|en)){_NOW} en {_PLACE}",
    rf"{_FRENCH}(?:habite|habitons|vis|vivons|vit){_NOW} (?:à|en|au) {_PLACE}",
    rf"{_CHINESE}(?:现在|目前)?(?:居住|住)在{_CHINESE_PLACE}",
)
_MOVED = (
    rf"{_ENGLISH}{_NOW}(?: moved?| moving| relocated){_BETWEEN}(?: from \w+)? to {_PLACE}",
    rf"{_GERMAN} (?:bin|sind|ist){_BETWEEN}(?: von \w+)? nach {_PLACE} (?:um)?gezogen",
    rf"{_GERMAN} zieh(?:e|en|t){_BETWEEN} nach {_PLACE}",
    rf"{_SPANISH}(?:[Mm]e|[Nn]os|[Ss]e) (?:h\w+ )?mud(?:é|amos|ó|ado){_BETWEEN} a {_PLACE}",
    rf"{_FRENCH}(?:ai |avons |a )(?:dé|em)ménagé{_BETWEEN} (?:à|en|au) {_PLACE}",
    rf"{_CHINESE}(?:已经|刚|上周|上个月|昨天)*搬(?:到|去|来)了?{_CHINESE_PLACE}",
)
_LIVING, _MOVING = ([re.compile(each) for each in kind] for kind in (_LIVES, _MOVED))
_SPEAKER = {"i", "we", "ich", "wir", "", "j'", "je", "nous", "on", "我", "我们"}


@dataclass(frozen=True, slots=True)
class Home:
    """Where somebody lives, as a statement has it.

    who: "" for whoever speaks. place: as it is written. moved: whether it tells of moving there.
    """

    who: str
    place: str
    moved: bool


@lru_cache(maxsize=512)
def home_in(text: str) -> Home | None:
    """Return where a text says that somebody lives, the first if it names several."""
    for patterns, moved in ((_MOVING, True), (_LIVING, False)):
        for pattern in patterns:
            match = pattern.search(text)
            if match:
                who = match["who"].strip().replace("’", "'").casefold()
                return Home("" if who in _SPEAKER else who, match["place"], moved)
    return None


def moved_away(older: str, newer: str) -> tuple[str, str] | None:
    """Return where somebody lived and where he has moved to since, if the texts say both."""
    after = home_in(newer)
    if after is None or not after.moved:
        return None
    before = home_in(older)
    if before is None or before.moved or before.who != after.who:
        return None
    same = before.place.casefold() == after.place.casefold()
    return None if same else (before.place, after.place)
