"""Days that a question names, and how near a note's time is to them.

A grammar of our own for dates in English, German, Spanish, French, Chinese and Japanese. The
library for it (dateparser 1.5) reads single words where it should read phrases ("9. November" as
November, "上周五" as a day of last week, "do" as Thursday), gives moments instead of days, weeks
and months, and takes 1.7 s to import and milliseconds a question; this takes a fraction of one.
"5/3/2026" is left alone, as nobody knows which is the day.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TypeAlias

from amem_integrations.analysts import date_words as words
from amem_integrations.analysts.date_words import any_of, key_of, number_of
from amem_integrations.recall.days import (
    Days,
    dated,
    last_units,
    named,
    nearest_weekday,
    units_ago,
    weekday_of_week,
)

_LONGEST_QUESTION = 10_000

Found: TypeAlias = re.Match[str]


def is_month(query: str, found: Found) -> bool:
    """Whether a name that is a month's too is one there: "in May", "5 May", "May 2025"."""
    if found[0].casefold() not in words.ENGLISH_MONTHS:
        return False
    before, after = query[: found.start()], query[found.end() :]
    return bool(
        re.search(
            rf"(?:\b(?:{words.OF_MONTH}|last|next)|\d(?:st|nd|rd|th)?(?: of)?) $", before, re.I
        )
        or re.match(r",? \d", after)
    )


def days_in(query: str, at: datetime) -> Days | None:
    """The first of the forms below that the question holds, or None.

    at: when it is asked, aware; its zone says which day is today.
    """
    text = _plain(query[:_LONGEST_QUESTION])
    for pattern, read in _FORMS:
        for found in pattern.finditer(text):
            try:
                days = read(found, at.date())
            except (OverflowError, ValueError):
                # No calendar has such a day.
                days = None
            if days is not None:
                return replace(days, zone=at.tzinfo or UTC)
    return None


def _plain(text: str) -> str:
    """The text without accents, in characters of usual width."""
    apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    bare = re.sub("[\u0300-\u036f]", "", apart).replace("\u2019", "'")
    return unicodedata.normalize("NFC", bare)


# -- forms -------------------------------------------------------------------------------------


def _which_is_the_day(found: Found, today: date) -> Days | None:
    """A day and a month, whichever is which: only where one of them can be no month."""
    first, second, year = int(found[1]), int(found[2]), int(found[3])
    if first > 12 or first == second:
        return dated(year, second, first)
    return dated(year, first, second) if second > 12 else None


def _read_month(found: Found, today: date) -> Days | None:
    if found.start() == 0 and found[1] in ("May", "March"):
        return None
    return named(today, None, words.MONTHS[found[1].casefold()])


def _read_shifted_month(found: Found, today: date) -> Days | None:
    """ "last March": that month of one year only."""
    ago, month = key_of(words.BEFORE_UNIT, found[1]), words.MONTHS[found[2].casefold()]
    if ago == 0:
        return None
    passed = month >= today.month if ago > 0 else month <= today.month
    return dated(today.year - passed * (1 if ago > 0 else -1), month)


def _read_ordinal(found: Found, today: date) -> Days | None:
    months = [today.year * 12 + today.month - 1 - back for back in (0, 1, 2)]
    several = (dated(month // 12, month % 12 + 1, int(found[1])) for month in months)
    return next((days for days in several if days and days.start.date() <= today), None)


def _read_ago(found: Found, today: date) -> Days | None:
    return units_ago(today, number_of(found["number"]), _unit(found))


def _read_recent(found: Found, today: date) -> Days:
    return last_units(today, number_of(found["number"]), _unit(found))


def _unit(found: Found) -> str:
    units = words.UNITS if found["unit"].isascii() else words.CJK_UNITS
    return key_of(units, found["unit"])


def _read_days_ago(found: Found, today: date, ago: int) -> Days | None:
    if found[0].casefold() == "hier" and words.GERMAN.search(found.string):
        return None
    return units_ago(today, ago, "day")


def _read_before_unit(found: Found, today: date) -> Days | None:
    return units_ago(today, key_of(words.BEFORE_UNIT, found[1]), _unit(found))


def _read_after_unit(found: Found, today: date) -> Days | None:
    return units_ago(today, key_of(words.AFTER_UNIT, found[found.lastindex or 0]), _unit(found))


def _read_before_weekday(found: Found, today: date) -> Days:
    weekday = words.WEEKDAYS[found[2].casefold()]
    return nearest_weekday(today, weekday, key_of(words.BEFORE_UNIT, found[1]))


def _read_after_weekday(found: Found, today: date) -> Days:
    weekday = words.WEEKDAYS[found[1].casefold()]
    return nearest_weekday(today, weekday, key_of(words.AFTER_UNIT, found[2]))


def _read_cjk_shifted(found: Found, today: date) -> Days | None:
    """Of "上周五" the day, of "先週末" the weekend, of "上周" the week; likewise of months."""
    ago = words.CJK_BEFORE_UNIT[found[1]]
    if found["unit"] == "月":
        return units_ago(today, ago, "month")
    if found["weekday"]:
        return weekday_of_week(today, words.CJK_WEEKDAYS[found["weekday"]], ago)
    return units_ago(today, ago, "weekend" if found["end"] else "week")


def _read_cjk_date(found: Found, today: date) -> Days | None:
    day = number_of(found[3]) if found[3] else None
    return named(today, found[1], number_of(found[2]), day)


_Read: TypeAlias = Callable[[Found, date], Days | None]
_YEAR = r"((?:19|20)\d\d)"
_OF_YEAR = rf"(?:,? (?:del? )?{_YEAR}\b)?"
_MONTH = rf"({any_of(words.MONTHS)})"
_WEEKDAY = rf"({any_of(words.WEEKDAYS)})"
_SHIFT = rf"({'|'.join(words.BEFORE_UNIT.values())})"
_SHIFT_AFTER = rf"({'|'.join(words.AFTER_UNIT.values())})"
_CJK_WEEK = "周|週|星期|礼拜|禮拜"
_CJK_DAY = "[一二三四五六日天]"
_CJK_UNIT = f"(?P<unit>{'|'.join(words.CJK_UNITS.values())})"
_CJK_MONTH = r"\d{1,2}|十[一二]?|[一二三四五六七八九]"
_CJK_COUNT = f"(?P<number>{words.CJK_NUMBER})"
_CJK_OF = "[个個箇かカヶヵケ]?"

_PATTERNS: tuple[tuple[str, _Read], ...] = (
    # -- written out
    (
        rf"(?<!\d){_YEAR}([-/.])(\d{{1,2}})\2(\d{{1,2}})(?!\d)",
        lambda found, today: dated(int(found[1]), int(found[3]), int(found[4])),
    ),
    (
        rf"(?<![\d-]){_YEAR}-(\d\d)(?![\d-])",
        lambda found, today: dated(int(found[1]), int(found[2])),
    ),
    (
        # With dots, the day comes first wherever dates are written so.
        rf"(?<![\d.])(\d{{1,2}})\.\s?(\d{{1,2}})\.\s?{_YEAR}(?!\d)",
        lambda found, today: dated(int(found[3]), int(found[2]), int(found[1])),
    ),
    (
        r"\b(?:am|vom|den|seit|zum) (\d{1,2})\.\s?(\d{1,2})\.(?!\d)",
        lambda found, today: named(today, None, int(found[2]), int(found[1])),
    ),
    (rf"(?<![\d/])(\d{{1,2}})/(\d{{1,2}})/{_YEAR}(?![\d/])", _which_is_the_day),
    (
        rf"\b(\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? ?{_MONTH}\b\.?{_OF_YEAR}",
        lambda found, today: named(
            today, found[3], words.MONTHS[found[2].casefold()], int(found[1])
        ),
    ),
    (
        rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b{_OF_YEAR}",
        lambda found, today: named(
            today, found[3], words.MONTHS[found[1].casefold()], int(found[2])
        ),
    ),
    (
        rf"\b{_MONTH}\b\.?,? (?:del? )?{_YEAR}\b",
        lambda found, today: named(today, found[2], words.MONTHS[found[1].casefold()]),
    ),
    (
        rf"(?:{_YEAR}\s*年\s*)?(?<![\d一二三四五六七八九十])({_CJK_MONTH})\s*月(?![亮前])"
        rf"(?:\s*({words.CJK_NUMBER})\s*[日号號])?",
        _read_cjk_date,
    ),
    # -- counted from today
    (rf"\b{words.NUMBER} {words.UNIT} (?:ago|atras)\b", _read_ago),
    (rf"\b(?:vor|hace|il y a) {words.NUMBER} {words.UNIT}\b", _read_ago),
    (rf"(?<!\d){_CJK_COUNT}\s*{_CJK_OF}{_CJK_UNIT}[之以]?前", _read_ago),
    (
        rf"\b(?:last|past|previous|letzten|vergangenen|ultim[oa]s) {words.NUMBER} {words.UNIT}\b",
        _read_recent,
    ),
    (rf"\b{words.NUMBER} dernier[e]?s {words.UNIT}\b", _read_recent),
    (
        rf"(?:最近|过去|過去|近|ここ|この)的?{_CJK_COUNT}\s*{_CJK_OF}{_CJK_UNIT}",
        _read_recent,
    ),
    (
        rf"\b{_WEEKDAY},? (?:of )?(?:last week|letzter woche|de la semana pasada|"
        r"de la semaine derniere)\b",
        lambda found, today: weekday_of_week(today, words.WEEKDAYS[found[1].casefold()], 1),
    ),
    (rf"\b{_WEEKDAY} {_SHIFT_AFTER}\b", _read_after_weekday),
    (rf"\b{_SHIFT} {_WEEKDAY}\b", _read_before_weekday),
    (rf"\b{_SHIFT} {_MONTH}\b", _read_shifted_month),
    (rf"\b{words.UNIT} {_SHIFT_AFTER}\b", _read_after_unit),
    (rf"\b{_SHIFT} {words.UNIT}\b", _read_before_unit),
    (
        rf"(?<![以晚早])({any_of(words.CJK_BEFORE_UNIT)})[个個]?"
        rf"(?:(?P<unit>月)(?!亮)|(?:{_CJK_WEEK})"
        rf"(?:(?P<end>末)|の?(?P<weekday>{_CJK_DAY}|[月火水木金土日](?=曜)))?)",
        _read_cjk_shifted,
    ),
    *(
        (rf"\b(?:{pattern})\b", lambda found, today, ago=ago: _read_days_ago(found, today, ago))
        for ago, pattern in sorted(words.DAYS_AGO.items(), key=lambda pair: -abs(pair[0]))
    ),
    *(
        (pattern, lambda found, today, ago=ago: units_ago(today, ago, "day"))
        for ago, pattern in sorted(words.CJK_DAYS_AGO.items(), key=lambda pair: -abs(pair[0]))
    ),
    (
        any_of(words.CJK_YEARS_AGO),
        lambda found, today: units_ago(today, words.CJK_YEARS_AGO[found[0]], "year"),
    ),
    # -- the last of that name
    (
        rf"\b(?:on|am|el) {_WEEKDAY}(?:abend|morgen|mittag|nachmittag|nacht)?\b",
        lambda found, today: nearest_weekday(today, words.WEEKDAYS[found[1].casefold()], None),
    ),
    (
        rf"(?<!\ble )(?<!\bdu )(?<!\bau )(?<!chaque )\b({words.FRENCH_WEEKDAYS})\b",
        lambda found, today: nearest_weekday(today, words.WEEKDAYS[found[1].casefold()], None),
    ),
    (
        rf"(?<![一二两兩三每隔\d])(?:(?:{_CJK_WEEK})({_CJK_DAY})(?![次遍])|(?<!毎週)([月火水木金土日])曜)",
        lambda found, today: nearest_weekday(today, words.CJK_WEEKDAYS[found[1] or found[2]], None),
    ),
    (r"\bon the (\d{1,2})(?:st|nd|rd|th)\b(?=\s*(?:$|[?.!,;]))", _read_ordinal),
    (
        rf"\b(?:{words.BEFORE_MONTH}) {_MONTH}\b",
        lambda found, today: named(today, None, words.MONTHS[found[1].casefold()]),
    ),
    (
        rf"\b(?:in|im jahr|during|of|year|by|since|seit|early|late|en|desde|depuis) {_YEAR}\b",
        lambda found, today: dated(int(found[1])),
    ),
    (rf"{_YEAR}\s*年", lambda found, today: dated(int(found[1]))),
)
_FORMS = (
    *((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _PATTERNS[:-3]),
    (re.compile(rf"\b({any_of(words.CAPITAL_MONTHS)})\b"), _read_month),
    *((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _PATTERNS[-3:]),
)
