"""Identifiers: the numbers, codes and emoji of a text, in the same form however they are written.

A word is found as it is written; an identifier has many spellings: 2024-10777 and 2024/10777,
0170 1234567 and +49 170 1234567, PROJ-181 and proj181, 45,00 and 45, third and 3. `sparse` makes
terms of the keys given here, and `recall.relevance` asks whether a question's are known at all.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

# Longer tokens are data or lists, of which each piece is read.
_LONGEST = 64
_MOST_PIECES = 9
_JOINED = 7
"""Characters from which an identifier is known by them alone, without its separators."""
_TAILS = (10, 9, 8)
"""Digits at the end that tell telephone numbers apart, whatever is dialled before them."""
_PART = 0.5
_WITHIN = 0.4
"""The share of digits between letters, which tell one code from another only with the letters."""
_LIGHT = 0.7
"""The weight of numbers that are everywhere: small ones, years, days and times."""

_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[-_./:,'\u2019][A-Za-z0-9]+)*")
_SEPARATOR, _BREAK = re.compile("[^a-z0-9]"), re.compile("[:/,_]")
_DIGIT = re.compile("[0-9]")
_RUN = re.compile(r"[a-z]+|[0-9]+")
_SMALL_FORM = re.compile(r"^(?:0x(?=[0-9a-f])|v(?=[0-9]))|(?<=[0-9])(?:st|nd|rd|th)$")
_NUMBERS = re.compile(r"(?<![0-9])[0-9]+(?:[^a-z0-9][0-9]+)+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:[.,'\u2019][0-9]{3})+")
_DECIMALS = re.compile(r"([0-9.,'\u2019]*[0-9])[.,]([0-9]{1,2})")
_GAPS = frozenset((" ", " (", ") ", "(", ")", " / ", " - "))
_DAY = re.compile(
    r"(?:19|20)[0-9]{2}(?:\.?(?:0?[1-9]|1[0-2])(?:\.?[0-3]?[0-9])?)?"
    r"|[0-9]{1,2}\.[0-9]{1,2}\.(?:19|20)[0-9]{2}|[0-9]{1,2}\.(?:[0-9]{2}|(?:19|20)[0-9]{2})"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa"
    "\U0001f400-\U0001faff]"
)
_CLOCK = re.compile(r"(?<![\w.:])([0-9]{1,2})(?:[.:]([0-9]{2}))? ?([AaPp])\.?[Mm]\b")
_CHINESE = "一二三四五六七八九十"
_CHINESE_ORDINAL = re.compile(f"第([{_CHINESE}])(?![{_CHINESE}百千])")
# Not "one" and "first": more often than a number, these are a pronoun and "at the beginning".
_NUMERALS: Mapping[str, int] = {
    word: number
    for words in (
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty",
        "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
        "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    )
    for number, word in enumerate(words.split(), 2)
}


class Identifier(NamedTuple):
    """keys: its forms and parts, and the weight of each in (0, 1].

    distinctive: those keys that few texts have by chance; none for a year or a small number.
    """

    keys: Mapping[str, float]
    distinctive: frozenset[str]


def find_identifiers(text: str) -> Iterator[Identifier]:
    """Yield the identifiers in a text, in time linear to its length; each emoji once."""
    if text.isascii():
        yield from _written(text)
        return
    text = _OTHER_DIGIT.sub(_decimal, unicodedata.normalize("NFKC", text))
    yield from _written(text)
    for emoji in dict.fromkeys(_EMOJI.findall(text)):
        yield Identifier({emoji: 1.0}, frozenset())
    for numeral in _CHINESE_ORDINAL.findall(text):
        yield _number(_CHINESE.index(numeral) + 1)


def _decimal(digit: re.Match[str]) -> str:
    return str(unicodedata.decimal(digit[0]))


def _number(value: int) -> Identifier:
    return _identifier({str(value): 1.0})


def _written(text: str) -> Iterator[Identifier]:
    """Each number and code; those with nothing but a space between them also as one."""
    row: list[str] = []
    end = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        is_word = token.isalpha() or _DIGIT.search(token) is None
        if is_word and not (len(token) <= 4 and token.isupper()):
            number = _NUMERALS.get(token.lower())
            if number is not None:
                yield _number(number)
            continue
        # Letters belong to the digits after them.
        if row and (text[end : found.start()] not in _GAPS or (is_word and _has_digit(row))):
            yield from _row(row)
            row = []
        end = found.end()
        row.append(token)
    yield from _row(row)
    for hour, minute, half in _CLOCK.findall(text):
        yield _identifier({f"{int(hour) % 12 + 12 * (half in 'Pp')}.{minute or '00'}": 1.0})


def _has_digit(row: Sequence[str]) -> bool:
    return _DIGIT.search(row[-1]) is not None


def _row(row: Sequence[str]) -> Iterator[Identifier]:
    """Tokens side by side: they may be one identifier, or several."""
    pieces = [piece for token in row for piece in _pieces(token.lower())]
    parts = [_identifier(_forms(piece)) for piece in pieces]
    joined = _SEPARATOR.sub("", "".join(row).lower())
    is_long = len(joined) >= _JOINED or not joined.isdigit() or _THOUSANDS.fullmatch(",".join(row))
    if not (parts and is_long and 1 < len(row) <= _MOST_PIECES and len(joined) <= _LONGEST):
        yield from parts
        return
    whole = _identifier(_forms(joined))
    keys = dict(whole.keys)
    for part in parts:
        keys.update({key: max(weight, keys.get(key, 0.0)) for key, weight in part.keys.items()})
    distinctive = frozenset[str]().union(*(part.distinctive for part in parts))
    # Not of a year or a small number: the letters before it may be any word.
    if distinctive or joined.isdigit():
        distinctive |= whole.distinctive
    yield Identifier(keys, distinctive)


def _pieces(token: str) -> Iterator[str]:
    """The token, or if it is too long for an identifier, what it consists of."""
    whole = [token] if len(token) <= _LONGEST else _SEPARATOR.split(token)
    return (each for each in whole if len(each) <= _LONGEST and _DIGIT.search(each))


def _forms(token: str) -> dict[str, float]:
    """The keys of one token in lower case, and how much each is the whole of it."""
    plain = _SMALL_FORM.sub("", token)
    groups = _SEPARATOR.split(plain)
    shares = {_key(plain): 1.0}
    joined = "".join(groups)
    if len(groups) > 1:
        decimals = _DECIMALS.fullmatch(plain)
        if decimals and (decimals[1].isdigit() or _THOUSANDS.fullmatch(decimals[1])):
            number = _SEPARATOR.sub("", decimals[1])
            shares[_key(f"{number}.{decimals[2].rstrip('0')}".rstrip("."))] = 1.0
        is_long = len(joined) >= _JOINED and not _DAY.fullmatch(_key(plain))
        if is_long or _THOUSANDS.fullmatch(plain):
            shares[_key(joined)] = 1.0
        for part in (*_NUMBERS.findall(plain), *_BREAK.split(plain), *groups):
            if _DIGIT.search(part):
                shares.setdefault(_key(part), _PART)
    for group in groups:
        runs = _RUN.findall(group)
        for run in runs if len(runs) > 1 else ():
            # Of a hash, a digit or two say nothing.
            if run.isdigit() and (len(runs) == 2 or len(run) > 3):
                shares.setdefault(_key(run), _WITHIN)
    if joined.isdigit():
        digits = joined.lstrip("0")
        for length in _TAILS:
            if length < len(digits):
                shares.setdefault(digits[-length:], _PART)
    return shares


def _key(token: str) -> str:
    """Letters and digits, a dot wherever they change or are separated; no leading zero."""
    return ".".join(_RUN.findall(token)).lstrip("0") or "0"


def _identifier(shares: Mapping[str, float]) -> Identifier:
    rare = {key for key in shares if len(key) - key.count(".") >= 4 and not _DAY.fullmatch(key)}
    weights = {key: share * (1.0 if key in rare else _LIGHT) for key, share in shares.items()}
    return Identifier(weights, frozenset(key for key in rare if shares[key] > _WITHIN))
