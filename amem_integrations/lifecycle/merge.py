"""Merging a note into an older one that says the same, and whether two notes do.

Nearness by meaning cannot tell "at 3" from "at 4", so all words must agree, in their order, except
for spelling, punctuation and the few words of `_IGNORED`. The older note gains terms, links and
occasions of the other, which is archived and leads to it. Reverting either of them undoes both
halves, except for the counts of their lives. Ours, not the paper's.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from amem_integrations.analysts.turns import depends_on_day, depends_on_speaker
from amem_integrations.core.engine import Vector
from amem_integrations.core.io import IO
from amem_integrations.core.note import LASTING, OPPOSING, Link, Note, Status
from amem_integrations.core.status import UNDER_AUDIT, Life
from amem_integrations.formation.validate import MAX_LINKS
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.support import count_supports
from amem_integrations.lifecycle.tenure import (
    came_up,
    life_of,
    most_conflicts,
    occasion,
    said_at,
)
from amem_integrations.revisions.change import change_notes, revised, with_terms_of
from amem_integrations.revisions.undo import MERGED
from amem_integrations.stores.read import load

MAX_CHARS = 4_000
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d]+(?:['’][^\W\d]+)*|[^\w\s]")
# What may stand or be missing without a difference; "?" is not among them, nor is any sign
# that can be an operator, a currency or a minus.
_MARKS = frozenset(".,;!:\"'…“”‘’。、；「」『』（）()")
_IGNORED = frozenset(("the", "please", "oh", "um", "uh", "hey"))
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
_MERGED = (Status.FORMED, Status.PLAIN)


# -- whether notes say the same ----------------------------------------------------------------


def statement_of(note: Note) -> tuple[str, ...] | None:
    """Return what notes that say the same have in common; None for one that is not to be merged.

    It is the words that make a difference, and speaker, day and session where the words depend on
    them. Not to be merged are values and notes with a time to live, notes that are contested,
    outdated or correct another, mere answers, and texts too long to compare word by word.
    """
    if note.status not in _MERGED or len(note.content) > MAX_CHARS:
        return None
    if note.value_json is not None or note.parts is not None or note.ttl is not None:
        return None
    if note.contested_by or note.valid_until is not None or note.merged_into is not None:
        return None
    if any(link.kind in OPPOSING for link in note.links):
        return None
    said = tokens(note.content)
    if _count_words(said) < _LEAST_WORDS or _ANSWER.match(note.content):
        return None
    return (*_circumstances(note), *said)


def _circumstances(note: Note) -> tuple[str, str, str]:
    """Speaker, day and session, where the words depend on them.

    A note that depends on what is not known of it stands alone.
    """
    text = note.content
    day = "" if note.occurred_at is None else note.local_time.date().isoformat()
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
    """Return the words and signs of a text that make a difference, in order."""
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
    return tuple(_DIGITS.get(token) or token for token in folded if token not in _IGNORED)


def _count_words(found: tuple[str, ...]) -> int:
    """How many words there are; of a script without spaces, two signs count as one."""
    return sum(max(1, len(token) // 2) if token[0] >= "\u2e80" else 1 for token in found)


def differ(older: Note, newer: Note) -> bool:
    """Return whether a note cannot stand for a later one with the same statement."""
    return older.status is not Status.FORMED or newer.metadata_json not in (
        "{}",
        older.metadata_json,
    )


async def find_same(io: IO, notes: Sequence[Note], similarity: float) -> dict[str, list[str]]:
    """Return ids of older notes, each with the ids of the notes to merge into it.

    They have one statement, and vectors, which include how they are understood, near each other.
    """
    groups: dict[tuple[str, ...], list[Note]] = {}
    for note in sorted(notes, key=lambda note: (note.created_at, note.id)):
        if (statement := statement_of(note)) is not None:
            groups.setdefault(statement, []).append(note)
    found: dict[str, list[str]] = {}
    for group in groups.values():
        if len(group) < 2:
            continue
        points = await io.engine.get([note.id for note in group], vectors=True)
        vectors = {point.id: point.dense for point in points}
        heads: list[Note] = []
        for note in group:
            same = (
                head
                for head in heads
                if not differ(head, note)
                and _cosine_of(vectors.get(head.id, ()), vectors.get(note.id, ())) >= similarity
            )
            if (head := next(same, None)) is None:
                heads.append(note)
            else:
                found.setdefault(head.id, []).append(note.id)
    return found


def _cosine_of(one: Sequence[Vector], other: Sequence[Vector]) -> float:
    """The cosine of two notes' vectors, passage by passage, the worst of them."""
    if len(one) != len(other):
        return -1.0
    return min((_cosine(a, b) for a, b in zip(one, other, strict=True)), default=-1.0)


def _cosine(a: Vector, b: Vector) -> float:
    norm = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0


# -- merging -----------------------------------------------------------------------------------


async def merge(
    io: IO, older: Note, newer: Note, why: str, analyst: str, policy: Policy, now: datetime
) -> Note | None:
    """Merge `newer` into `older` and return that; None, with nothing done, if one was changed.

    Both come with the links of both directions. Who asks for the newer one is led to the older.
    now: the time of the merge, the same for all that are merged by one call.
    """
    wanted = _inherited_links(older, newer)
    present = await load(io, [link.to for link in wanted], older.namespace)
    links = [link for link in wanted if _at_hand(present.get(link.to))]
    before = replace(older, links=older.outgoing)
    after = with_terms_of(replace(before, links=(*older.outgoing, *links)), newer)
    after = revised(before, after, MERGED, newer.id, now, analyst, reason=why)
    after = replace(after, life=_joined_lives(older, newer, policy))
    aside = newer.evolve(status=Status.ARCHIVED, merged_into=older.id, links=newer.outgoing)
    aside = revised(newer, aside, MERGED, older.id, now, analyst, reason=why)
    return after if await change_notes(io, [(before, after), (newer, aside)]) else None


def _inherited_links(older: Note, newer: Note) -> list[Link]:
    """Return links from the older note to what the newer one is linked with, the strongest first.

    At most MAX_LINKS. The newer note keeps its own, for when it is restored.
    """
    known = {older.id, newer.id, *(link.other(older.id) for link in older.links)}
    found: dict[str, Link] = {}
    for link in sorted(newer.links, key=lambda link: (-link.weight, link.other(newer.id))):
        other = link.other(newer.id)
        if other not in known and link.kind not in LASTING and len(found) < MAX_LINKS:
            found.setdefault(other, replace(link, source=older.id, to=other))
    return list(found.values())


def _joined_lives(older: Note, newer: Note, policy: Policy) -> Life:
    """Return the lives of two notes that say the same, as one: the newer confirms the older."""
    one, other = life_of(older), newer.life
    said = said_at(newer)
    life = came_up(one, occasion(newer.session, said), said, policy)
    for label in other.occasions:
        life = came_up(life, label, other.confirmed_at or said, policy)
    return replace(
        life,
        clean=one.clean + other.clean,
        conflicting=one.conflicting + other.conflicting,
        conflicts=tuple(sorted({*one.conflicts, *other.conflicts})[-most_conflicts(policy) :]),
        used_at=max(filter(None, (one.used_at, other.used_at)), default=None),
        # Both may count the same sources, so they are not added up.
        supports=max(one.supports, other.supports, count_supports(older, [newer], policy)),
    )


def _at_hand(note: Note | None) -> bool:
    return note is not None and note.status not in (Status.ARCHIVED, *UNDER_AUDIT)
