"""A statement read as clauses: its telling words in order, its values, and whether it denies.

Values are what a slot can hold only one of: numbers, times of day, dates, weekdays, months. What it
knows of a language is in `languages`; `statements` compares the clauses.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from amem_integrations.analysts import words
from amem_integrations.analysts.date_words import (
    CJK_WEEKDAYS,
    DAYS_AGO,
    MONTHS,
    WEEKDAYS,
    any_of,
)
from amem_integrations.analysts.languages import Language, entry, functions, language, plain


@dataclass(frozen=True, slots=True)
class Term:
    """A telling word or value of a clause.

    key: what makes it the same as another. kind: "number", "time", "date", "weekday", "month",
    "day"; "" for a word. sign: -1 for the opposite of the word that `key` names. label: whether it
    is a value that says which one is meant, as in "invoice 4711".
    """

    key: str
    text: str
    kind: str = ""
    sign: int = 1
    name: bool = False
    after: str = ""
    label: bool = False


@dataclass(slots=True)
class Clause:
    """What one clause says.

    subject: how many of its terms stand before its verb; None without one that is known.
    denied: terms of which it says that they are not so ("…, not Tuesday").
    corrects: whether it says that something said was wrong.
    changes: whether it tells of a change of something that was said.
    personal: whether who is meant depends on who says it.
    """

    terms: list[Term] = field(default_factory=list[Term])
    denied: list[Term] = field(default_factory=list[Term])
    negative: bool = False
    corrects: bool = False
    changes: bool = False
    event: bool = False
    unsure: bool = False
    person: str | None = None
    personal: bool = False
    subject: int | None = None
    copula: bool = False
    single: bool = False
    roles: set[str] = field(default_factory=set[str])
    several: bool = False
    plural: bool = False
    leanings: set[str] = field(default_factory=set[str])


# -- reading ---------------------------------------------------------------------------------

_MONTH = any_of(MONTHS)
_MEASURES = "个只辆岁块元公口位年天次本杯瓶条张楼层号分小"
_CJK_VALUE = (
    f"[一二两三四五六七八九十百千万]{{1,9}}[点月{_MEASURES}]"
    "|(?:周|星期|礼拜|禮拜)[一二三四五六日天]"
)
_VALUE = re.compile(
    rf"(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?(?: of| de)? (?P<month>{_MONTH})\b"
    rf"|(?P<month_first>{_MONTH}) (?P<day_last>\d{{1,2}})(?:st|nd|rd|th)?\b"
    r"|(?P<cjk_month>\d{1,2}|[一二三四五六七八九十]{1,2})月(?:(?P<cjk_day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号號])?"
    r"|(?:周|星期|礼拜|禮拜)(?P<cjk_weekday>[一二三四五六日天])"
    r"|(?P<cjk_hour>\d{1,2}|[一二两三四五六七八九十]{1,3})点(?P<half>半)?"
    r"|(?P<hour>\d{1,2}):(?P<minute>\d{2})(?: ?(?P<half_day>[ap])\.?m\b)?"
    r"|(?P<hour_of>\d{1,2}) ?(?P<half_day_of>[ap])\.?m\b"
    r"|(?P<hour_at>\d{1,2}) (?:uhr|heures?|o'clock)\b"
    r"|(?P<number>\d+(?:[.,]\d+)*)(?P<ordinal>(?:st|nd|rd|th|e|eme)\b)?"
    rf"|(?P<cjk_number>[一二两三四五六七八九十百千万]+)(?:[个只辆位名]|(?=[{_MEASURES}]))"
    rf"|(?P<han>(?:(?!{_CJK_VALUE})[\u3400-\u9fff])+)"
    r"|(?P<word>[^\W\d_\u3400-\u9fff]+(?:-[^\W\d_\u3400-\u9fff]+)*)"
    r"|(?P<sign>[€$£%])|(?P<comma>[,，:：])"
)
_CHANGE = re.compile(
    r"\b(?:moved?|changed?|shift(?:ed)?|postponed?|rescheduled?|pushed|brought|raised?|lowered|cut"
    r"|increased?|reduced?|verschob\w+|verleg\w+|geandert|erhoht|gesenkt|cambi\w+|aplaz\w+"
    r"|deplac\w+|reporte\w*)\b|改|推迟|提前|调"
)
_QUESTION = re.compile(r"[?？][\"'”’)]*\s*$")
_ENGLISH_NOT = re.compile(r"\b(ca|wo|sha)?(\w*?)n['’]t\b")
_SHORTENED = re.compile(r"['’](?:s|re|m|ve|d|ll)\b")
_AT = frozenset({"at", "um", "las"})
_PROPER_MONTH = frozenset({"may", "march", "mar", "jan", "dec", "mai", "mars", "marz", "sept"})
_DAYS = {word: ago for ago, alternatives in DAYS_AGO.items() for word in alternatives.split("|")}
_CJK_DAYS = {"昨天": "1", "前天": "2", "今天": "0", "明天": "-1", "后天": "-2"}
_DIGITS = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"两": 2}


def clauses(text: str, known: Language) -> Sequence[Clause]:
    """Return the clauses of a text that say something; questions are left out."""
    return _clauses(text, known.name)


@lru_cache(maxsize=256)
def _clauses(text: str, name: str) -> tuple[Clause, ...]:
    known = language(name)
    text = unicodedata.normalize("NFKC", text)
    found: list[Clause] = []
    corrects = False
    for sentence in re.split(r"(?<=[.!?。！？;；\n])(?=[\s\u3000-\u9fff])|\n", text):
        if not sentence.strip() or _QUESTION.search(sentence):
            continue
        for part in known.joints.split(sentence) if known.name == "zh" else _parts(sentence, known):
            clause = _read(part, known)
            clause.corrects |= corrects
            corrects = clause.corrects
            if clause.terms or clause.denied:
                found.append(clause)
    return tuple(found)


def _parts(sentence: str, known: Language) -> Iterator[str]:
    start = 0
    for match in known.joints.finditer(plain(sentence)):
        yield sentence[start : match.start()]
        start = match.end()
    yield sentence[start:]


def _read(text: str, known: Language) -> Clause:
    clause = Clause(event=known.is_event(text.lower()))
    folded = plain(text).replace("’", "'")
    clause.changes = bool(_CHANGE.search(folded))
    clause.corrects = bool(known.corrections.search(folded.strip()))
    text, folded = _without(known.fillers, text, folded)
    text, folded = _without(known.corrections, text, folded)
    if known.name == "en":
        folded = _ENGLISH_NOT.sub(_spelled_out, folded)
        folded = _SHORTENED.sub("", folded)
    folded = known.phrase.sub(lambda match: known.phrases[match[0]], folded)
    capitals = {plain(word) for word in re.findall(r"(?<=[^\W\d_.] )[A-ZÀ-Þ][^\W\d_]+", text)}
    capitals |= {plain(word) for word in re.findall(r"\b[A-Z]\b", text[1:])}
    comma = denying = False
    before = ""
    items = list(_terms(folded, known, capitals))
    for place, term in enumerate(items):
        if isinstance(term, str):
            if term == ",":
                comma = bool(clause.terms)
                continue
            if term in known.denials:
                if comma:
                    denying = True
                else:
                    clause.negative = True
            _note_function_word(term, clause, known)
            before = term if term not in known.denials else before
            if term in known.signs:
                clause.leanings.add(term)
            continue
        if denying:
            clause.denied.append(term)
            continue
        comma = False
        if _is_label(items, place, clause, known.name == "en"):
            term = replace(term, label=True)
        if not term.kind and (clause.subject is None or clause.copula):
            single, role, several = functions(known.name, term.text)
            clause.single |= single
            if clause.subject is None:
                # In English and Chinese the last word says who or what it is: "the friend's dog".
                last = known.name in ("en", "zh") and not single
                clause.several = several or (clause.several and not last)
                clause.roles |= {term.key} if role else set()
                clause.subject = len(clause.terms) if single else None
        clause.terms.append(term)
    # Spanish leaves out "I".
    clause.personal |= known.name == "es" and clause.subject == 0
    # "The door is broken" is no event, unlike "Ich bin gelaufen".
    clause.event &= not (clause.copula and known.name == "en")
    return clause


def _is_label(items: Sequence[Term | str], place: int, clause: Clause, english: bool) -> bool:
    """Return whether a value says which one is meant: "invoice 4711 is paid", "the Monday call is".

    A figure does after a noun, unless it counts what follows it, as in "holds 512 entries".
    """
    value, before = items[place], items[place - 1] if place else ""
    counts = place + 1 < len(items) and isinstance(items[place + 1], Term)
    if isinstance(value, str) or not value.kind:
        return False
    if value.kind in ("weekday", "month", "date", "day"):
        # Other languages have the noun before it, or a verb after it.
        return counts and english and clause.subject is None
    if not (value.kind == "number" and value.text[0].isdigit() and isinstance(before, Term)):
        return False
    if before.kind or not before.text.isalpha():
        return False
    if len(clause.terms) == 1:
        # The one word before it is a verb after "I", and the subject without: "chapter 3 covers".
        return clause.person is None
    return not counts


def _without(pattern: re.Pattern[str], text: str, folded: str) -> tuple[str, str]:
    """Return both texts with blanks where the pattern is found in the folded one."""
    shift = len(folded) - len(folded.lstrip())
    for match in pattern.finditer(folded.lstrip()):
        start, end = match.start() + shift, match.end() + shift
        blank = " " * (end - start)
        text = text[:start] + blank + text[end:]
        folded = folded[:start] + blank + folded[end:]
    return text, folded


def _spelled_out(match: re.Match[str]) -> str:
    word = {"ca": "can", "wo": "will", "sha": "shall"}.get(match[1] or "", match[2])
    return f"{word} not"


def _note_function_word(word: str, clause: Clause, known: Language) -> None:
    clause.personal |= known.persons.get(word) in known.speakers
    if word in known.persons and clause.person is None:
        clause.person = known.persons[word]
    if word in known.copulas and clause.subject is None:
        clause.subject, clause.copula = len(clause.terms), True
    clause.single |= known.name == "zh" and known.is_single(word)
    clause.plural |= word in known.plural and clause.subject is not None
    clause.unsure |= word in known.unsure


def _terms(folded: str, known: Language, capitals: set[str]) -> Iterator[Term | str]:
    """Yield the terms of a clause, and its function words and commas as they are."""
    before = ""
    for match in _VALUE.finditer(folded):
        kind = match.lastgroup
        if kind == "comma":
            yield ","
        elif kind in ("word", "han"):
            for word in _split(match[0], known):
                found = _of_word(word, known, word in capitals, before)
                if isinstance(found, str) and word in known.signs and not folded[match.end() + 1 :]:
                    # "On" says something where nothing follows it.
                    found = _word_term(known, word, word, False, before)
                yield found
                before = word
        elif kind == "sign":
            yield _word_term(known, match[0], match[0], False, before)
            before = match[0]
        elif match["cjk_number"] != "一":
            yield _value(match, before, folded)
            before = ""


def _word_term(known: Language, word: str, text: str, name: bool, after: str) -> Term:
    key, kind, sign = entry(known.name, word)
    return Term(key, text if kind else word, kind, sign, name and not kind and sign > 0, after)


def _split(run: str, known: Language) -> Iterator[str]:
    if known.name != "zh" or run.isascii():
        yield run
        return
    end = 0
    for match in known.chinese.finditer(run):
        yield from words.segment(run[end : match.start()])
        yield match[0]
        end = match.end()
    yield from words.segment(run[end:])


def _of_word(word: str, known: Language, capital: bool, before: str) -> Term | str:
    word = word.replace("ß", "ss")
    if word in WEEKDAYS or (word[-1:] == "s" and word[:-1] in WEEKDAYS):
        return Term(str(WEEKDAYS[word if word in WEEKDAYS else word[:-1]]), word, "weekday")
    if word in MONTHS and (len(word) > 3 or capital) and (capital or word not in _PROPER_MONTH):
        return Term(str(MONTHS[word]), word, "month")
    if word in _DAYS or word in _CJK_DAYS:
        return Term(str(_DAYS.get(word, _CJK_DAYS.get(word))), word, "day")
    if capital and len(word) == 1 and word != "i":
        return Term(word, word, "", 1, True, before)
    function = word in known.empty or word in known.denials or word in known.persons
    if word in known.unsure or (function and word not in known.signs) or word in known.copulas:
        return word
    if word in known.signs and word in known.empty:
        # "on" and "a" are function words where something follows them.
        return word
    term = _word_term(known, word, word, capital, before)
    if term.kind == "number" and before in _AT:
        return Term(_clock(int(term.key), 0), word, "time")
    return term


def _value(match: re.Match[str], before: str, folded: str) -> Term:
    """Return the value that a match says."""
    text = match[0]
    if match["iso"]:
        _, month, day = text.split("-")
        return Term(f"{int(month)}-{int(day)}", text, "date")
    if month := match["month"] or match["month_first"]:
        return Term(f"{MONTHS[month]}-{int(match['day'] or match['day_last'])}", text, "date")
    if match["cjk_month"]:
        month = _cjk_number(match["cjk_month"])
        if match["cjk_day"]:
            return Term(f"{month}-{_cjk_number(match['cjk_day'])}", text, "date")
        return Term(str(month), text, "month")
    if match["cjk_weekday"]:
        return Term(str(CJK_WEEKDAYS[match["cjk_weekday"]]), text, "weekday")
    if match["cjk_hour"]:
        return Term(_clock(_cjk_number(match["cjk_hour"]), 30 * bool(match["half"])), text, "time")
    if match["cjk_number"]:
        return Term(str(_cjk_number(match["cjk_number"])), match["cjk_number"], "number")
    hour = match["hour"] or match["hour_of"] or match["hour_at"]
    if hour:
        half = match["half_day"] or match["half_day_of"]
        return Term(_clock(int(hour), int(match["minute"] or 0), half), text, "time")
    number = text[: match.end("number") - match.start()]
    if before in _AT and number.isdecimal() and int(number) < 25:
        return Term(_clock(int(number), 0), text, "time")
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", number):
        number = re.sub("[.,]", "", number)
    return Term(number.replace(",", "."), text, "number")


def _clock(hour: int, minute: int, half: str | None = None) -> str:
    """Return a time of day; before noon and after it are the same unless the text says which."""
    if half is not None:
        hour = hour % 12 + 12 * (half == "p")
    return f"{hour}:{minute:02}" if half or hour > 12 else f"{hour}:{minute:02}?"


def same_time(one: str, other: str) -> bool:
    if not one.endswith("?") and not other.endswith("?"):
        return one == other
    hours = [int(each.split(":")[0]) % 12 for each in (one, other)]
    minutes = [each.rstrip("?").split(":")[1] for each in (one, other)]
    return hours[0] == hours[1] and minutes[0] == minutes[1]


def _cjk_number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    total = part = 0
    for sign in text:
        if sign in _DIGITS:
            part = _DIGITS[sign]
        else:
            unit = {"十": 10, "百": 100, "千": 1000, "万": 10_000}[sign]
            total, part = total + max(part, 1) * unit, 0
    return total + part
