"""Whether two notes say the same, for merging them: in doubt they do not.

Pure. Nearness by meaning cannot tell "at 3" from "at 4", or "likes" from "no longer likes", so
it is the words that must agree: all of them, in their order, but for spelling, marks that
change nothing, and the few words of `_IDLE`. Ours, not the paper's.
"""

import re
import unicodedata

from amem_integrations.analysts.turns import depends_on_day, depends_on_speaker
from amem_integrations.core.note import CONTRADICTS, CORRECTS, Note, Status

MAX_CHARS = 4_000
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d]+(?:['’][^\W\d]+)*|[^\w\s]")
# What may stand or be missing without a difference; "?" is not among them, nor is any sign
# that can be an operator, a currency or a minus.
_MARKS = frozenset(".,;!:\"'…“”‘’。、；「」『』（）()")
_IDLE = frozenset(("the", "please", "oh", "um", "uh", "hey"))
_SHORTENED = (
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"\bcan(?:['’]t|not)\b", re.IGNORECASE), "can not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"\bI['’]m\b", re.IGNORECASE), "I am"),
    (re.compile(r"['’]re\b", re.IGNORECASE), " are"),
    (re.compile(r"['’]ll\b", re.IGNORECASE), " will"),
    (re.compile(r"['’]ve\b", re.IGNORECASE), " have"),
)
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS, start=2)}
# Words that stand for what was said before them.
_POINTING = re.compile(
    r"\b(?:he|him|his|she|hers?|they|them|their|theirs|it|its|this|that|these|those|here|there"
    r"|(?:the )?(?:other|same|former|latter|last|first|next) one|so do|neither)\b"
    r"|[他她它这那]",
    re.IGNORECASE,
)
# What answers something says nothing without it, and neither do a word or two.
_ANSWER = re.compile(
    r"\s*(?:(?:yes|yeah|yep|no|nope|ok|okay|sure|right|exactly|agreed|deal|done|true|fine|good"
    r"|great|perfect|thanks|thank you|me too|same here)\b|[好是对不行嗯哦])",
    re.IGNORECASE,
)
_LEAST_WORDS = 3
# What happened once can happen again, and is not the same then.
_HAPPENED = re.compile(
    r"\b(?:\w{2,}ed|was|were|had|did|went|got|made|took|came|saw|met|bought|sold|sent|found|lost"
    r"|left|gave|told|said|wrote|read|ran|won|ate|drank|slept|broke|fell|flew|drove|spent|paid"
    r"|cut|put|began|spoke|heard|felt|thought|brought|caught|taught|built|hurt|swam|rode|woke)\b"
    r"|[了过]",
    re.IGNORECASE,
)
# Who is linked in one of these ways takes part in a change of mind.
_TURNS = frozenset((CORRECTS, CONTRADICTS))
_MERGED = (Status.FORMED, Status.PLAIN)


def gist(note: Note) -> tuple[str, ...] | None:
    """What notes that say the same have in common; None for one that is not to be merged.

    The words that make a difference, and who, when and where it was said as far as they lean
    on that. Left alone is what a caller keeps as a value or for a time, what is disputed or
    over or corrects another note, what is no more than an answer, and what is too long to be
    compared word by word.
    """
    if note.status not in _MERGED or len(note.content) > MAX_CHARS:
        return None
    if note.value_json is not None or note.parts is not None or note.ttl is not None:
        return None
    if note.contested_by or note.valid_until is not None or note.merged_into is not None:
        return None
    if any(link.kind in _TURNS for link in note.links):
        return None
    said = tokens(note.content)
    if _words(said) < _LEAST_WORDS or _ANSWER.match(note.content):
        return None
    return (*_around(note), *said)


def _around(note: Note) -> tuple[str, str, str]:
    """Who says it, on which day and in which session, where the words lean on it.

    A note that leans on what it does not say stands alone.
    """
    text = note.content
    day = "" if note.occurred_at is None else note.occurred_at.date().isoformat()
    who, when, where = "", "", ""
    if depends_on_speaker(text):
        who = note.speaker or ""
    if depends_on_day(text):
        when = day or note.id
    elif _HAPPENED.search(text):
        when = day
    if _POINTING.search(text):
        where = note.session or note.id
    return who, when, where


def tokens(text: str) -> tuple[str, ...]:
    """The words and signs of a text that make a difference, in order."""
    plain = unicodedata.normalize("NFKC", text)
    shouted = plain.isupper()
    for shortened, full in _SHORTENED:
        plain = shortened.sub(full, plain)
    found = (match.group() for match in _TOKEN.finditer(plain) if match.group() not in _MARKS)
    folded = (
        # "IT" is not "it", unless everything is in capitals.
        token if len(token) > 1 and token.isupper() and not shouted else token.casefold()
        for token in found
    )
    return tuple(_DIGITS.get(token) or token for token in folded if token not in _IDLE)


def _words(found: tuple[str, ...]) -> int:
    """How many words there are; of a script without spaces, two signs count as one."""
    return sum(max(1, len(each) // 2) if each[0] >= "\u2e80" else 1 for each in found)


def differ(older: Note, newer: Note) -> bool:
    """Whether a note cannot stand for a later one of the same gist."""
    return older.status is not Status.FORMED or newer.metadata_json not in (
        "{}",
        older.metadata_json,
    )
