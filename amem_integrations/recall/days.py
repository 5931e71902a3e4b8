"""Days, weeks, months and years: which they are, and how near a time is to them.

`dates` finds in a question which of them it names; `signals` asks how near each note is.
"""

import math
from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

# Days in which the worth of a time falls to 1/e: one tells of a day afterwards, seldom before.
_AFTER = 14.0
_BEFORE = _AFTER / 3
# What is told of a day comes after what happened on it.
_OUTSIDE = 0.5
# What a question says of a month, without a year, is mostly the last one.
_OTHER_YEAR = 0.9
# A year alone holds so many notes that being of it says little.
_YEAR_ALONE = 0.3
_LONG = timedelta(days=100)
_DAY = timedelta(days=1)
_YEARS_BACK = 10
_EPOCH = datetime(1970, 1, 1)
# How far the clocks of the world are ahead of UTC, and behind.
_AHEAD, _BEHIND = timedelta(hours=14), timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Days:
    """What lies in [start, end), in the local time of whoever was there.

    yearly: no year was named, and those of other years count nearly as much.
    zone: where the question is asked; times in UTC are those of its clock.
    """

    start: datetime
    end: datetime
    yearly: bool = False
    zone: tzinfo = UTC

    def local(self, when: datetime) -> datetime:
        """The local time of a moment: on its own clock, or on the asker's if it is in UTC."""
        try:
            own = when if when.utcoffset() else when.astimezone(self.zone)
        except OverflowError:
            own = when
        return own.replace(tzinfo=None)

    def nearness(self, local: datetime) -> float:
        """1 for a local time within, less the further from it, in [0, 1]."""
        if not self.yearly:
            return self._nearness(local)
        others = (self._of(year) for year in range(local.year - 1, local.year + 2))
        return max(
            days._nearness(local) * (1.0 if days.start == self.start else _OTHER_YEAR)
            for days in others
            if days is not None
        )

    def spans(self) -> list[tuple[int, int]]:
        """The microseconds of UTC in which the days can lie, wherever; none if these are many."""
        if self.end - self.start > _LONG:
            return []
        years = range(self.start.year - _YEARS_BACK, self.start.year + 2) if self.yearly else ()
        several = [days for year in years if (days := self._of(year))] or [self]
        return [(_micros(days.start, -_AHEAD), _micros(days.end, _BEHIND)) for days in several]

    def _nearness(self, local: datetime) -> float:
        within = self.start <= local < self.end
        if self.end - self.start > _LONG:
            return _YEAR_ALONE if within else 0.0
        if within:
            return 1.0
        if local < self.start:
            return _OUTSIDE * math.exp(-((self.start - local) / _DAY) / _BEFORE)
        return _OUTSIDE * math.exp(-((local - self.end) / _DAY) / _AFTER)

    def _of(self, year: int) -> "Days | None":
        """The same days of another year."""
        is_month = self.start.day == self.end.day == 1
        last = monthrange(year, self.start.month)[1] if 1 <= year <= 9999 else 0
        day = min(self.start.day, last)
        return dated(year, self.start.month, None if is_month else day, yearly=True)


def _micros(local: datetime, shift: timedelta) -> int:
    return (local - _EPOCH + shift) // timedelta(microseconds=1)


# -- periods -----------------------------------------------------------------------------------


def days_from(first: date, days: int = 1) -> Days:
    start = datetime.combine(first, time())
    return Days(start, start + timedelta(days=days))


def dated(
    year: int, month: int | None = None, day: int | None = None, *, yearly: bool = False
) -> Days | None:
    """A day, month or year of the calendar; None if it has none such."""
    if not 1 <= year <= 9998 or not 1 <= (month or 1) <= 12:
        return None
    if day is not None and month is not None:
        if not 1 <= day <= monthrange(year, month)[1]:
            return None
        return replace(days_from(date(year, month, day)), yearly=yearly)
    last = month or 12
    end = datetime(year + last // 12, last % 12 + 1, 1)
    return Days(datetime(year, month or 1, 1), end, yearly)


def named(today: date, year: str | None, month: int, day: int | None = None) -> Days | None:
    """A day or month; without a year, the last one that has begun, and those of other years."""
    if year:
        return dated(int(year), month, day)
    # Back to a leap year, for 29 February.
    past = (dated(each, month, day, yearly=True) for each in range(today.year, today.year - 9, -1))
    return next((days for days in past if days and days.start.date() <= today), None)


def units_ago(today: date, count: int, unit: str) -> Days | None:
    """The day, week, weekend, month or year that many units ago."""
    if unit == "year":
        return dated(today.year - count)
    if unit == "month":
        months = today.year * 12 + today.month - 1 - count
        return dated(months // 12, months % 12 + 1)
    if unit == "day":
        return days_from(today - timedelta(days=count))
    monday = today - timedelta(days=today.weekday() + 7 * count)
    return days_from(monday, 7) if unit == "week" else days_from(monday + timedelta(days=5), 2)


def last_units(today: date, count: int, unit: str) -> Days:
    """The last so many units, today included."""
    days = count * {"day": 1, "weekend": 7, "week": 7, "month": 30, "year": 365}[unit]
    return days_from(today - timedelta(days=days), days + 1)


def weekday_of_week(today: date, weekday: int, weeks_ago: int) -> Days:
    return days_from(today - timedelta(days=today.weekday() - weekday + 7 * weeks_ago))


def nearest_weekday(today: date, weekday: int, ago: int | None) -> Days:
    """The last one before today, that of this week, the next one; None: the last, or today."""
    since = (today.weekday() - weekday) % 7
    if ago is None:
        return days_from(today - timedelta(days=since))
    if ago == 0:
        return weekday_of_week(today, weekday, 0)
    return days_from(today - timedelta(days=(since or 7) if ago > 0 else since - 7))
