"""The words of dates in six languages, as patterns for text that lost its accents.

Only what a question says of the past and of the days ahead: names of months and weekdays, numbers,
units, and the words that lead from today to another day. `dates` puts them together.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

K = TypeVar("K")


def any_of(words: Iterable[str]) -> str:
    """A pattern of any of the words, the longer ones first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


def _numbered(first: int, *languages: str) -> dict[str, int]:
    """Words by their number: those of each language in order, variants joined by "/"."""
    return {
        word: number
        for language in languages
        for number, words in enumerate(language.split(), first)
        for word in words.split("/")
    }


ENGLISH_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS = _numbered(
    1,
    " ".join(f"{name}/{name[:3]}" for name in ENGLISH_MONTHS),
    "januar/janner februar marz/maerz april mai juni juli august september oktober/okt november "
    "dezember/dez",
    "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre "
    "diciembre",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
) | {"sept": 9}
# In German and English a month has a capital, which tells it from "may" and "march".
CAPITAL_MONTHS = (
    *(name.title() for name in ENGLISH_MONTHS),
    *("Januar", "Februar", "Marz", "Juni", "Juli", "Oktober", "Dezember"),
)
OF_MONTH = "in|during|since|until|early|late|mid"
"""What stands before the name of a month, and before nobody's name."""
BEFORE_MONTH = f"{OF_MONTH}|im|seit|anfang|mitte|ende|en|desde|durante|depuis|debut|fin|mois de"

WEEKDAYS = _numbered(
    0,
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
    "lunes martes miercoles jueves viernes sabado domingo",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
)
FRENCH_WEEKDAYS = "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
CJK_WEEKDAYS = _numbered(0, "一/月 二/火 三/水 四/木 五/金 六/土 日/天")

_NUMBERS = _numbered(
    1,
    "a/an/one two/a~couple~of three/a~few four five six seven eight nine ten eleven twelve",
    "ein/eine/einem/einer/einen zwei/zwo drei vier funf sechs sieben acht neun zehn elf zwolf",
    "un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "un/une deux trois quatre cinq six sept huit neuf dix onze douze",
)
NUMBERS = {word.replace("~", " "): number for word, number in _NUMBERS.items()}
NUMBER = rf"(?P<number>\d{{1,3}}|{any_of(NUMBERS)})"
CJK_NUMBER = r"(?:\d{1,3}|[一二两兩三四五六七八九十百]{1,4})"
_CJK_DIGITS = {**{digit: n for n, digit in enumerate("〇一二三四五六七八九")}, "两": 2, "兩": 2}

UNITS: Mapping[str, str] = {
    "day": "days?|tage?n?|dias?|jours?",
    "weekend": "weekends?|week-ends?|wochenenden?|fin de semana",
    "week": "weeks?|wochen?|semanas?|semaines?",
    "month": "months?|monate?n?|mes(?:es)?|mois",
    "year": "years?|jahre?n?s?|anos?|ans?|annees?",
}
UNIT = f"(?P<unit>{'|'.join(UNITS.values())})"
CJK_UNITS: Mapping[str, str] = {
    "day": "天|日",
    "week": "周|週間?|星期|礼拜|禮拜",
    "month": "月",
    "year": "年",
}

_E = "e[nrsm]?"
BEFORE_UNIT: Mapping[int, str] = {
    2: f"vorletzt{_E}",
    1: f"last|past|previous|letzt{_E}|vergangen{_E}|vorig{_E}|pasad[oa]",
    0: f"this|dies{_E}|est[ea]|cette|cet?",
    -1: f"next|nachst{_E}|kommend{_E}|proxim[oa]|prochaine?",
}
"""Words before a unit or weekday, by how many units ago it is."""
AFTER_UNIT: Mapping[int, str] = {
    2: "before last|antepasad[oa]",
    1: "pasad[oa]|dernier|derniere|passee?",
    -1: "que viene|proxim[oa]|prochaine?",
}
CJK_BEFORE_UNIT: Mapping[str, int] = {
    "上上": 2,
    "先々": 2,
    "先先": 2,
    "上": 1,
    "先": 1,
    "这": 0,
    "這": 0,
    "本": 0,
    "今": 0,
    "下": -1,
    "来": -1,
    "來": -1,
}

DAYS_AGO: Mapping[int, str] = {
    0: "today|tonight|this (?:morning|afternoon|evening)|heute|hoy|esta (?:manana|tarde|noche)|"
    "aujourd'hui|ce (?:matin|soir)",
    1: "yesterday|last night|gestern|ayer|anoche|hier",
    2: "(?:the )?day before yesterday|vorgestern|anteayer|antier|antes de ayer|avant-hier",
    -1: "tomorrow|(?<!am )(?<!guten )(?<!jeden )(?<!diesen )morgen|(?<!la )manana|demain",
    -2: "(?:the )?day after tomorrow|ubermorgen|pasado manana|apres-demain",
}
CJK_DAYS_AGO: Mapping[int, str] = {
    0: "今天|今日|今早|今晚|今朝|今夜|きょう",
    1: "昨天|昨日|昨晚|昨夜|昨晩|きのう",
    2: "(?<![之以目大])前天(?![气氣天])|一昨日|おととい",
    3: "大前天|一昨々日|さきおととい",
    -1: "明天|明日|明早|明晚|あした",
    -2: "(?<![今以最之])[后後]天(?![气氣天])|明後日|あさって",
}
CJK_YEARS_AGO: Mapping[str, int] = {
    "去年": 1,
    "昨年": 1,
    "前年": 2,
    "一昨年": 2,
    "おととし": 2,
    "今年": 0,
    "明年": -1,
    "来年": -1,
    "來年": -1,
}
# "hier" is French, and German for "here".
GERMAN = re.compile(r"\b(?:was|wer|wo|ist|der|das|und|ich|wir|war|hat|haben|wie|nicht)\b", re.I)


def number_of(text: str) -> int:
    """The number that a word of NUMBER or CJK_NUMBER says."""
    if text.isdecimal():
        return int(text)
    if (number := NUMBERS.get(text.casefold())) is not None:
        return number
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return _CJK_DIGITS.get(text, 0)
    return 10 * (_CJK_DIGITS.get(tens, 0) if tens else 1) + _CJK_DIGITS.get(ones, 0)


def key_of(patterns: Mapping[K, str], text: str) -> K:
    """The key of the pattern that matches the text."""
    return next(key for key, pattern in patterns.items() if re.fullmatch(pattern, text, re.I))
