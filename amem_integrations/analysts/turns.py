"""Turns without a model: whether an idea is new, a repetition, a correction, or nothing.

Only what is surely nothing or a repetition is not formed, so both ask for much: every word is
small talk, or all of it stands, word by word, in one older note. In doubt it is new.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from amem_integrations.analysts import lexicon, sentences, words
from amem_integrations.analysts.links import contradictions
from amem_integrations.analysts.note_types import (
    ASSISTANTS,
    SmallTalk,
    classify_small_talk,
    is_question,
    is_small_talk,
    only_asks,
)
from amem_integrations.analysts.terms import Corpus
from amem_integrations.core.analysis import Candidate, TurnKind
from amem_integrations.core.note import Note

# The share of an idea's telling words, by weight, that a note of the same matter holds, and that
# a note which may say the same holds.
SAME_MATTER, MAYBE_SAID = 0.34, 0.75
# The least mass of a repetition, and the mass under which an idea may be nothing.
LEAST_REPEATED, LITTLE = 1.5, 0.7
# What a reply must say beyond what it was told, and what a number or day of it weighs.
LEAST_ADDED, VALUE = 1.2, 1.3
# Two texts this near may say the same in other words.
VERY_NEAR = 0.85
# A note this near, or one that shares telling words, can be corrected.
CORRECTED_NEAR = 0.35
# Longer texts are not looked through for repetitions and corrections: they hold words of any kind.
MAX_COMPARED_CHARS, MAX_CORRECTING_CHARS = 2_000, 600

# Something happened once more; or is different now, unless all words are the same.
_AGAIN = re.compile(
    r"\b(?:again|another|this time|finally|just|once)\b|又|再(?!说|见)|刚|终于|另一", re.IGNORECASE
)
_DIFFERENT = re.compile(
    r"\b(?:still|more|now|new|no longer|any ?more|already|also|else|next|yet)\b"
    r"|还(?!有|是|行)|也|已经|新的",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|this (?:morning|afternoon|evening|week(?:end)?"
    r"|month|year|summer|winter|spring|fall|autumn)|(?:last|next) \w+|ago|recently|lately)\b"
    r"|今天|今晚|今早|明天|昨天|后天|前天|刚才|现在|这周|本周|上周|下周|上个月|下个月|今年|去年|明年|最近",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:i|i['’]\w+|me|my|mine|myself|we|we['’]\w+|us|our|ours|you|you['’]\w+|your|yours)\b"
    r"|[我你您咱]",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|cannot|without)\b|n['’]t\b|[不没別别无]"
)
_RETRACTED = re.compile(
    r"\b(?:actually|forget (?:that|what i said|the old)|i was wrong|my mistake|correction|i meant"
    r"|i looked it up|i (?:misread|mixed up|got that wrong|misspoke)|not anymore|no longer|instead"
    r"|scratch that|(?:is|are|was|were|has been|have been|got|been) (?:moved|changed"
    r"|postponed|rescheduled|cancell?ed|delayed|pushed(?: back)?)|changed (?:my|his|her|our|their)"
    r" minds?|is (?:gone|out|off))\b"
    r"|更正|纠正|更改为|说错|记错|弄错|搞错|写错|看错|改到|改成|改为|换成|其实|应该是|不是.{1,12}(?:而是|，?是)"
    r"|取消|推迟|延期|提前|不再|作废",
    re.IGNORECASE,
)
# These are said of much that corrects nothing.
_WEAK = re.compile(r"actually|instead|其实", re.IGNORECASE)
_NOT_THIS = re.compile(
    r"\bnot (?:on |in |at |the |a |an )?(?P<en>\w+(?:[:.-]\w+)*)"
    r"|(?:不是|而不是|不在)(?P<zh>[^\s，。,是]{1,6})",
    re.IGNORECASE,
)
_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_DATES = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b"
    r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}(?:st|nd|rd|th)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|(?:周|星期|礼拜|禮拜)[一二三四五六日天]|(?:\d{1,2}月)?\d{1,2}[号號日]",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)"
    r"(?:\s*(?P<sign>[%€$£¥:]|[\u4e00-\u9fff])|[ -](?P<unit>[^\W\d_]+))?"
)
_QUESTION = re.compile(r"[?？]")
# Somebody is called by name.
_ADDRESSED = re.compile(r",\s+[A-ZÀ-Þ][\w-]+(?=\s*[.!?])")
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an idea is, of which note, and why; not `sure` if a model should be asked."""

    kind: TurnKind
    reason: str
    of: str | None = None
    sure: bool = True


def classify(
    note: Note,
    candidates: Sequence[Candidate],
    before: Note | None,
    corpus: Corpus,
    names: Collection[str] = (),
) -> Verdict:
    """Return the verdict on a note that holds one idea and is not yet stored.

    candidates: the nearest older notes. before: the turn that it follows. names: folded names
    of those who talk.
    """
    text = note.content
    small_talk = classify_small_talk(text, names)
    if small_talk is SmallTalk.ANSWER and before is not None and _asks(before.content):
        return Verdict("new", "answers the question before it")
    if small_talk is not None:
        return Verdict("nothing", "small talk, nothing beside it")
    parts = [
        part for part in sentences.sentence_texts(text) if not classify_small_talk(part, names)
    ]
    if parts and all(map(_is_asked(note), parts)):
        return Verdict("nothing", "only asks")
    if is_reply(note) and (echo := _echo(text, candidates, before, corpus, names)) is not None:
        return echo
    keys, mass = sentences.weigh_words(text, corpus, names)
    if len(text) <= MAX_COMPARED_CHARS:
        repeated = _repeated(note, keys, mass, candidates)
        if repeated is not None:
            return Verdict("repetition", "every word of it is in that note", repeated)
    for id, reason in contradictions(note, candidates).items():
        return Verdict("correction", reason, id)
    cue = _RETRACTED.search(text)
    if cue is not None and len(text) <= MAX_CORRECTING_CHARS and not is_question(text):
        return _correction(note, keys, cue.group(), candidates)
    return _doubt(note, keys, mass, candidates, before, corpus)


def is_reply(note: Note) -> bool:
    """Return whether it is the assistant that says it in a conversation."""
    return note.speaker is not None and note.speaker.casefold() in ASSISTANTS


def shared_weight(keys: Collection[str], note: Note, corpus: Corpus) -> float:
    """Return the share of the words `keys`, by rarity, that a note holds, in [0, 1]."""
    total = sum(map(corpus.rarity, keys))
    both = words.occurring(keys, note.content)
    return sum(map(corpus.rarity, both)) / total if total else 0.0


def depends_on_speaker(text: str) -> bool:
    """Return whether the meaning of a text depends on who says it to whom."""
    return bool(_PERSON.search(text))


def depends_on_day(text: str) -> bool:
    """Return whether the meaning of a text depends on the day."""
    return bool(_DAY.search(text) or _AGAIN.search(text))


# -- questions and echoes --------------------------------------------------------------------


def _is_asked(note: Note) -> Callable[[str], bool]:
    """Return what tells a bare question; an assistant tells nothing by asking."""
    return is_question if is_reply(note) else only_asks


def _echo(
    text: str,
    candidates: Sequence[Candidate],
    before: Note | None,
    corpus: Corpus,
    names: Collection[str],
) -> Verdict | None:
    """Return a verdict on a reply that says only what the assistant was told; None for any other.

    It was told the turn before, and what one older note says. A reply that has but the words of
    the question before it answers that.
    """
    said = _weights(text, corpus, names)
    told = before.content if before is not None else ""
    if sum(said.values()) < LITTLE:
        return Verdict("nothing", "a reply that says little")
    asked = before is not None and _asks(told)
    older = [each.note.content for each in candidates if not is_question(each.note.content)]
    if _added(said, told) < LEAST_ADDED:
        if not asked:
            return Verdict("nothing", "an echo of the turn before it")
        # Not what it was asked with: what it is told by an older note alone.
        told = ""
    if any(_added(said, f"{told}\n{each[:MAX_COMPARED_CHARS]}") < LEAST_ADDED for each in older):
        return Verdict("nothing", "an echo of an older note")
    return None


def _weights(text: str, corpus: Corpus, names: Collection[str]) -> dict[str, float]:
    """Return the weights of the words of a text that are no function words, by key."""
    found: dict[str, float] = {}
    for word in words.words_of(_ADDRESSED.sub("", text), corpus.names):
        if word.key in names or is_small_talk(word.key):
            continue
        value = word.number or word.key in lexicon.TIME
        found[word.key] = VALUE if value else word.weight
    return found


def _added(said: Mapping[str, float], told: str) -> float:
    """Return the weight of the words that a text says and another does not."""
    known = words.occurring(said, told)
    return sum(weight for key, weight in said.items() if key not in known)


# -- repetitions -----------------------------------------------------------------------------


def _repeated(
    note: Note, keys: frozenset[str], mass: float, candidates: Sequence[Candidate]
) -> str | None:
    """Return the id of the nearest note that says all of it, in the same order."""
    if mass < LEAST_REPEATED or len(keys) < 2 or _AGAIN.search(note.content):
        return None
    own = [line for line in map(_essence, _lines(note.content)) if line]
    for candidate in candidates:
        other = candidate.note
        if not _same_voice(note, other) or not _same_day(note, other):
            continue
        if _DIFFERENT.search(note.content) and not _same_words(note, other):
            continue
        lines = [_essence(line) for line in _lines(other.content[:MAX_COMPARED_CHARS])]
        if own and all(any(_says(line, mine) for line in lines) for mine in own):
            return other.id
    return None


def _lines(text: str) -> Iterator[str]:
    return (line for line in sentences.sentence_texts(text) if not classify_small_talk(line))


def _essence(line: str) -> tuple[str, ...]:
    """Return the words that make a difference, in order, and first whether it asks or denies."""
    keys = [word.key for word in words.words_of(line)]
    telling = [key for key in keys if key not in lexicon.NO_DIFFERENCE and not is_small_talk(key)]
    if not telling:
        return ()
    shape = "?" if is_question(line) else "."
    return (shape + "-" * len(_NEGATION.findall(line.casefold())), *telling)


def _says(line: Sequence[str], mine: Sequence[str]) -> bool:
    """Return whether an older sentence is the same but for additions of little weight."""
    if not line or line[0] != mine[0] or len(line) > len(mine) + max(1, len(mine) // 3):
        return False
    rest = iter(line)
    if not all(key in rest for key in mine):
        return False
    # What the older one says beyond it must not turn its sense, as "might" and "was" do.
    added = [key for key in line if key not in mine]
    return not any(key in lexicon.STOP["en"] and key not in lexicon.NO_DIFFERENCE for key in added)


def _same_words(note: Note, other: Note) -> bool:
    return note.content.casefold().split() == other.content.casefold().split()


def _same_voice(note: Note, other: Note) -> bool:
    """Return whether "I" and "you" are the same people in both."""
    return note.speaker == other.speaker or not depends_on_speaker(note.content)


def _same_day(note: Note, other: Note) -> bool:
    """Return whether "today" is the same day in both; without such words it does not matter."""
    if not _DAY.search(note.content):
        return True
    if note.occurred_at is None or other.occurred_at is None:
        return note.session is not None and note.session == other.session
    return note.local_time.date() == other.local_time.date()


# -- corrections -----------------------------------------------------------------------------


def _correction(
    note: Note, keys: frozenset[str], cue: str, candidates: Sequence[Candidate]
) -> Verdict:
    """Return which note is corrected: one of the same matter with another value in its place."""
    text = note.content
    plain = Corpus(())
    known = [
        each
        for each in candidates
        if len(each.note.content) <= MAX_COMPARED_CHARS and not is_question(each.note.content)
    ]
    matter = {each.note.id: each for each in known if _of_the_matter(keys, each)}
    shares = {id: shared_weight(keys, each.note, plain) for id, each in matter.items()}
    ranked = [matter[id].note for id in sorted(matter, key=lambda each: -shares[each])]
    # In the same session, naming the wrong word is enough.
    heard = [each.note for each in known if note.session and each.note.session == note.session]
    denied = _denied(text)
    for other in (*ranked, *heard):
        known_words = words.occurring(denied, other.content)
        if wrong := next((word for word in denied if word in known_words), None):
            return Verdict("correction", f"says '{wrong}' is not so", other.id)
    for other in ranked:
        near = shares[other.id] > 0 and matter[other.id].similarity >= CORRECTED_NEAR
        if shares[other.id] < SAME_MATTER and (not near or _WEAK.search(cue)):
            continue
        if (changed := _changed(text, other.content)) is not None:
            new, old = changed
            return Verdict("correction", f"'{cue}', and '{new}' was '{old}'", other.id)
    in_doubt = any(share >= SAME_MATTER for share in shares.values()) and not _WEAK.search(cue)
    return Verdict("new", f"'{cue}', but of no note that is known", sure=not in_doubt)


def _denied(text: str) -> list[str]:
    """Return the telling words of which a text says that they are not so."""
    found = [match["zh"] or words.fold(match["en"]) for match in _NOT_THIS.finditer(text)]
    hollow = lexicon.STOP["en"] | (lexicon.COMMON - lexicon.UNITS)
    return [each for each in found if each not in hollow]


def _of_the_matter(keys: frozenset[str], candidate: Candidate) -> bool:
    shared = keys & words.keys(candidate.note.content[: words.MAX_TEXT_CHARS])
    return bool(shared) or candidate.similarity >= CORRECTED_NEAR


def _changed(text: str, old: str) -> tuple[str, str] | None:
    """Return a day or a quantity of `text` and the one in `old` in its place, if they differ."""
    for slot in (_days, _quantities):
        new, before = slot(text), slot(old)
        for unit, values in new.items():
            fresh = [each for each in values if each not in before.get(unit, ())]
            if fresh and unit in before:
                alike = (each for each in before[unit] if _shape(each) == _shape(fresh[0]))
                return fresh[0], next(alike, before[unit][0])
    return None


def _shape(value: str) -> tuple[bool, bool]:
    """Tell a date from a weekday and from a day of the month."""
    return any(sign.isdigit() for sign in value), " " in value


def _days(text: str) -> dict[str, list[str]]:
    """Return weekdays and dates; one kind can stand for the other."""
    found = [match.group().casefold() for match in _DATES.finditer(text)]
    return {"day": found} if found else {}


def _quantities(text: str) -> dict[str, list[str]]:
    """Return numbers by what they count."""
    found: dict[str, list[str]] = {}
    for match in _COUNTED.finditer(_DATES.sub(" ", text)):
        unit = words.fold(match["unit"]) if match["unit"] else match["sign"]
        if unit:
            found.setdefault(unit, []).append(match["number"])
    return found


# -- doubt -----------------------------------------------------------------------------------


def _doubt(
    note: Note,
    keys: frozenset[str],
    mass: float,
    candidates: Sequence[Candidate],
    before: Note | None,
    corpus: Corpus,
) -> Verdict:
    """Return "new", and whether that is sure."""
    text = note.content
    if mass < LITTLE and not _NUMBER.search(text) and not is_question(text):
        answers = before is not None and _asks(before.content)
        return Verdict("new", "says little", sure=answers or bool(_PERSON.search(text)))
    if is_question(text) or mass < LEAST_REPEATED or len(text) > MAX_COMPARED_CHARS:
        return Verdict("new", "says what no older note does")
    for candidate in candidates:
        if candidate.similarity >= VERY_NEAR:
            return Verdict("new", "very near to an older note", candidate.note.id, sure=False)
        changed = _AGAIN.search(text) or _DIFFERENT.search(text)
        if not changed and shared_weight(keys, candidate.note, corpus) >= MAYBE_SAID:
            return Verdict("new", "an older note has most of its words", sure=False)
    return Verdict("new", "says what no older note does")


def _asks(text: str) -> bool:
    """Return whether a question stands anywhere in a text."""
    return bool(_QUESTION.search(text)) or is_question(text)
