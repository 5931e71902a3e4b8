"""Days that a question names, and how near a note's time is to them.

Dates of English and Chinese, in numbers where these tell which is the day, and what is told from
the day of asking: "yesterday", "last week", "last Friday", "three days ago". "5/3/2026" is left
alone, as nobody knows which is the day.
"""

import math
import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# Days in which the worth of a time falls to 1/e: one tells of a day afterwards, seldom before.
_AFTER = 14.0
_BEFORE = _AFTER / 3
# A year alone holds so many notes that being of it says little.
_YEAR_ALONE = 0.3

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = f"({'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTHS)}|sept)"
_WEEKDAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
# What stands before the name of a month, and before nobody's name.
_OF_MONTH = "(?:in|during|since|until|last|next|early|late|mid)"
_NUMBER = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})"


@dataclass(frozen=True, slots=True)
class Days:
    """A day, a month or a year; without a year, that day or month of any."""

    year: int | None
    month: int | None = None
    day: int | None = None
    length: int = 1

    def nearness(self, when: datetime) -> float:
        """1 for a time within, less the further from it, in [0, 1]."""
        if self.month is None:
            return _YEAR_ALONE if when.year == self.year else 0.0
        year = self.year or when.year
        first = datetime(
            year, self.month, min(self.day or 1, monthrange(year, self.month)[1]), tzinfo=UTC
        )
        length = self.length if self.day else monthrange(year, self.month)[1]
        if when < first:
            return math.exp(-((first - when) / timedelta(days=1)) / _BEFORE)
        after = (when - first) / timedelta(days=1) - length
        return 1.0 if after < 0 else math.exp(-after / _AFTER)


def is_month(query: str, found: re.Match[str]) -> bool:
    """Whether a name that is a month's too is one there: "in May", "5 May", "May 2025"."""
    if found[0].casefold() not in _MONTHS:
        return False
    before, after = query[: found.start()], query[found.end() :]
    return bool(
        re.search(rf"(?:\b{_OF_MONTH}|\d(?:st|nd|rd|th)?(?: of)?) $", before, re.I)
        or re.match(r",? \d", after)
    )


def days_in(query: str, now: datetime) -> Days | None:
    """The first of the forms below that the question holds, or None."""
    for pattern, read in _FORMS:
        if found := pattern.search(query):
            days = read(found, now)
            if days is not None and _exists(days):
                return days
    return None


def _exists(days: Days) -> bool:
    if days.year is not None and not 1 <= days.year <= 9998:
        return False
    if days.month is None:
        return True
    return 1 <= days.month <= 12 and (
        days.day is None or 1 <= days.day <= monthrange(days.year or 2024, days.month)[1]
    )


def _of_month(name: str) -> int:
    return next(n for n, month in enumerate(_MONTHS, 1) if month.startswith(name.casefold()[:3]))


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _ago(found: re.Match[str], now: datetime) -> Days | None:
    word = found[1].casefold()
    count = int(word) if word.isdigit() else _NUMBERS.get(word, 1)
    return _before(now, count, found[2].casefold())


def _before(now: datetime, count: int, unit: str, length: int = 1) -> Days | None:
    """The day, week, month or year that many units ago; None if no calendar has it."""
    try:
        if unit == "year":
            return Days(now.year - count)
        if unit == "month":
            months = now.year * 12 + now.month - 1 - count
            return Days(months // 12, months % 12 + 1)
        if unit == "week":
            count, length = now.weekday() + 7 * count, 7
        day = now - timedelta(days=count)
        return Days(day.year, day.month, day.day, length)
    except OverflowError:
        return None


def _last_weekday(found: re.Match[str], now: datetime) -> Days | None:
    days = (now.weekday() - _WEEKDAYS.index(found[1].casefold()) - 1) % 7 + 1
    return _before(now, days, "day")


def _in_numbers(found: re.Match[str], now: datetime) -> Days | None:
    """A day and a month, whichever is which: only where one of them can be no month."""
    first, second, year = int(found[1]), int(found[2]), int(found[3])
    if first > 12 or first == second:
        return Days(year, second, first)
    return Days(year, first, second) if second > 12 else None


_DAYS_AGO = {
    **dict.fromkeys(("today", "tonight", "this morning", "今天"), 0),
    **dict.fromkeys(("yesterday", "last night", "昨天"), 1),
    "前天": 2,
}
_CHINESE_AGO = {
    **dict.fromkeys(("本周", "这周"), (0, "week")),
    **dict.fromkeys(("这个月", "本月"), (0, "month")),
    **dict.fromkeys(("上个月", "上月"), (1, "month")),
    "上周": (1, "week"),
    "去年": (1, "year"),
    "今年": (0, "year"),
}

_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Days | None]], ...] = (
    (
        re.compile(r"(?<!\d)((?:19|20)\d\d)([-/.])(\d{1,2})\2(\d{1,2})(?!\d)"),
        lambda found, now: Days(int(found[1]), int(found[3]), int(found[4])),
    ),
    (
        # With dots, the day comes first wherever dates are written so.
        re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?((?:19|20)\d\d)(?!\d)"),
        lambda found, now: Days(int(found[3]), int(found[2]), int(found[1])),
    ),
    (re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)(?![\d/])"), _in_numbers),
    (
        re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?(?:,? (\d{{4}}))?", re.I),
        lambda found, now: Days(_number(found[3]), _of_month(found[2]), int(found[1])),
    ),
    (
        re.compile(rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.I),
        lambda found, now: Days(_number(found[3]), _of_month(found[1]), int(found[2])),
    ),
    (
        # "may" and "march" are words too; a month is written with a capital.
        re.compile(r"\b(" + "|".join(name.title() for name in _MONTHS) + r")\b(?:,? (\d{4}))?"),
        lambda found, now: (
            None
            if found.start() == 0 and found[1] in ("May", "March") and not found[2]
            else Days(_number(found[2]), _of_month(found[1]))
        ),
    ),
    (
        re.compile(rf"\b{_OF_MONTH} {_MONTH}\b", re.I),
        lambda found, now: Days(None, _of_month(found[1])),
    ),
    (
        re.compile(r"(?:((?:19|20)\d\d)\s*年\s*)?(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"),
        lambda found, now: Days(_number(found[1]), int(found[2]), int(found[3])),
    ),
    (
        re.compile(r"(?:((?:19|20)\d\d)\s*年\s*)?(?<!\d)(\d{1,2})\s*月(?!\d)"),
        lambda found, now: Days(_number(found[1]), int(found[2])),
    ),
    (
        re.compile(
            r"\b(?:in|during|of|year|by|since|early|late) ((?:19|20)\d\d)\b|((?:19|20)\d\d)\s*年"
        ),
        lambda found, now: Days(int(found[1] or found[2])),
    ),
    (
        re.compile(rf"\b(?:{'|'.join(_DAYS_AGO)})\b|今天|昨天|前天", re.I),
        lambda found, now: _before(now, _DAYS_AGO[found[0].casefold()], "day"),
    ),
    (re.compile(rf"\b{_NUMBER} (day|week|month|year)s? ago\b", re.I), _ago),
    (
        re.compile(r"\b(last|this) (week|month|year)\b", re.I),
        lambda found, now: _before(now, int(found[1].casefold() == "last"), found[2].casefold()),
    ),
    (re.compile(rf"\blast ({'|'.join(_WEEKDAYS)})day\b", re.I), _last_weekday),
    (
        re.compile(r"\blast weekend\b", re.I),
        lambda found, now: _before(now, now.weekday() + 2, "day", length=2),
    ),
    (
        re.compile(r"(\d{1,3})\s*天(?:之|以)?前"),
        lambda found, now: _before(now, int(found[1]), "day"),
    ),
    (
        re.compile("|".join(_CHINESE_AGO)),
        lambda found, now: _before(now, *_CHINESE_AGO[found[0]]),
    ),
)
