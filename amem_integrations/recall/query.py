"""What a search asks for: whose words, of which days, and among which notes.

`read_question` reads the question's text. `scope_of` makes one condition of namespace, filter and
moment; every note of a search comes through that `Scope`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from amem_integrations.analysts.lexicon import STOP
from amem_integrations.analysts.note_types import ASSISTANTS
from amem_integrations.core.engine import Point
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, Not, Range, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, as_utc
from amem_integrations.core.status import AT_HAND, Status
from amem_integrations.recall.dates import days_in, is_month
from amem_integrations.recall.days import Days
from amem_integrations.stores.codec import micros, note_from, within
from amem_integrations.stores.facts import exists, place_of
from amem_integrations.stores.filters import match as filters
from amem_integrations.stores.filters.language import And, Filter, Negation, Or

Believe: TypeAlias = Callable[[Note], Note]

# Of what users said, what is left to be expected when the assistant itself is addressed.
_ADDRESSED = 0.4
# The namespace's owner asks: who says "I" there is a user, not the assistant.
_I = re.compile(r"\b(?:[Ii]|[Mm](?:e|y|ine|yself)|[Ww]e|[Uu]s|[Oo]urs?)\b|[我咱]")
_YOU = re.compile(r"\byou(?:r|rs|rself)?\b|[你您]", re.IGNORECASE)
# Asks for what holds now, rather than for whatever was said.
_NOW = re.compile(
    r"\b(?:now|nowadays|current(?:ly)?|presently|latest|newest|most recent|these days|still|today"
    r"|(?:is|are) (?:my|our)"
    r"|(?:at|by|for) (?:the moment|present)|any ?more|up to date"
    r"|jetzt|derzeit|zur ?zeit|aktuell\w*|momentan|heutzutage|immer noch|noch immer|neueste\w*"
    r"|ahora|actual(?:mente)?|todav[ií]a|hoy en d[ií]a|en este momento"
    r"|maintenant|actuel\w*|en ce moment|de nos jours"
    r"|agora|atualmente|adesso|attualmente|momenteel|tegenwoordig)\b"
    "|现在|目前|当前|如今|最新|現在|今の|今は|いま",
    re.IGNORECASE,
)
_LATIN = "\u024f"
_POSSESSIVE = r"(?:['\u2019]s\b)?"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, read.

    text: without the names of speakers: who speaks is asked of the notes' speaker, and hardly
        anybody says their own name. about: the speakers it asks about, and how surely, in (0, 1].
    named: whether it names a speaker that the namespace knows.
    now: whether it asks for what holds now, or what was said last.
    """

    text: str
    about: Mapping[str, float]
    days: Days | None
    named: bool = False
    now: bool = False


def read_question(query: str, speakers: Collection[str], now: datetime) -> Question:
    """speakers: all that the namespace knows. now: when and in which zone it is asked."""
    people = [speaker for speaker in speakers if speaker.lower() not in ASSISTANTS]
    patterns = {speaker: _name(speaker, query) for speaker in people if _occurs(speaker, query)}
    named = [speaker for speaker, name in patterns.items() if _is_named(name, query)]
    text = query
    # The whole names go first, so that nothing of them is left.
    for speaker in sorted(named, key=len, reverse=True):
        text = patterns[speaker].sub(_unless_month, text)
    return Question(
        text=" ".join(text.split()) if re.search(r"\w", text) else query,
        about=_about(query, named, people, len(people) < len(speakers)),
        # Without the names, of which "May" may be one.
        days=days_in(text, now),
        named=bool(named),
        now=_NOW.search(query) is not None,
    )


def _about(
    query: str, named: list[str], people: list[str], with_assistant: bool
) -> Mapping[str, float]:
    if len({_first(speaker) for speaker in named}) == 1:
        whole = [speaker for speaker in named if speaker.lower() in query.lower()]
        return dict.fromkeys(whole or named, 1.0)
    if named or not with_assistant or not _I.search(query):
        return {}
    # Users ask for what they said themselves, unless they ask what they were told.
    return dict.fromkeys(people, _ADDRESSED if _YOU.search(query) else 1.0)


def _first(speaker: str) -> str:
    return (speaker.split() or [speaker])[0]


def _occurs(speaker: str, query: str) -> bool:
    """Whether it is worth looking closer, as it seldom is where there are many speakers."""
    first = _first(speaker)
    return first in query or first.lower() in query


def _name(speaker: str, query: str) -> re.Pattern[str]:
    """What names the speaker: the whole name or its first word, as it is written.

    In a question without capitals, small letters do, if the name is no common word.
    """
    first = _first(speaker)
    names = "|".join(re.escape(name) for name in dict.fromkeys((speaker, first)))
    small = query == query.lower() and first.lower() not in STOP["en"]
    flags = re.IGNORECASE if small else re.NOFLAG
    if max(first, default="") > _LATIN:
        # Names of scripts that do not set words apart have no boundaries to look for, and in
        # others they are inflected.
        return re.compile(f"(?:{names}){_POSSESSIVE}", flags)
    return re.compile(rf"(?<!\w)(?:{names}){_POSSESSIVE}(?!\w)", flags)


def _unless_month(found: re.Match[str]) -> str:
    return found[0] if is_month(found.string, found) else " "


def _is_named(name: re.Pattern[str], query: str) -> bool:
    """Whether the name stands there, and not as a month or the word that opens a question."""
    return any(
        (found.start() > 0 or found[0].lower() not in STOP["en"]) and not is_month(query, found)
        for found in name.finditer(query)
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """Which notes a search may return: all of them meet `where`.

    unverified: a filter that `where` only approximates; notes that were read must meet it too.
    skipped: whether skipped turns may be returned; the others are their neighbours' context only.
    believe: called with each note that is read, to compute its confidence.
    """

    namespace: Namespace
    where: Condition
    unverified: Filter | None = None
    believe: Believe | None = None
    skipped: bool = False

    async def load(self, io: IO, ids: Iterable[str]) -> dict[str, Note]:
        """Read the notes among `ids` that may be returned, in the order of `ids`."""
        wanted = list(ids)
        return self.admit(await io.engine.get(wanted)) if wanted else {}

    def admit(self, points: Iterable[Point]) -> dict[str, Note]:
        """Return the notes in `points` that may be returned."""
        notes = [note_from(point) for point in points if "ns" in point.payload]
        return {
            note.id: self.believe(note) if self.believe else note
            for note in notes
            if note.namespace == self.namespace
            and (self.skipped or note.status is not Status.SKIPPED)
            and (self.unverified is None or filters.matches(self.unverified, note))
        }


def scope_of(
    namespace: Namespace, filter: Mapping[Any, Any] | Filter | None, at: datetime | None
) -> Scope:
    """Return the scope of a search; raises what `search` says of `filter` and `at`."""
    parts: list[Condition] = []
    unverified: Filter | None = None
    tree = filters.parse(filter)
    by_status = _asks_for_status(tree)
    if not by_status:
        parts.append(match("status", *AT_HAND))
    if at is not None:
        parts.extend(_known_at(micros(as_utc(at))))
    if filter:
        compiled = filters.compile(tree)
        parts.append(compiled.condition)
        unverified = None if compiled.exact else tree
    return Scope(namespace, within(namespace, *parts), unverified, skipped=by_status)


def _asks_for_status(tree: Filter) -> bool:
    match tree:
        case And(parts) | Or(parts):
            return any(map(_asks_for_status, parts))
        case Negation(part):
            return _asks_for_status(part)
        case _:
            return tree.field.name == "status"


def within_days(days: Days) -> Condition | None:
    """Notes that may be of these days; None if the days are too many to be looked at apart.

    The days of a note are those of its own offset, so the condition takes in a little more.
    """
    told = match("facts", exists(place_of(("occurred_at",))))
    spans = [
        AnyOf(
            (
                Range("occurred_at", gte=start, lt=end),
                both(Range("created_at", gte=start, lt=end), Not(told)),
            )
        )
        for start, end in days.spans()
    ]
    return AnyOf(tuple(spans)) if spans else None


def _known_at(instant: int) -> tuple[Condition, Condition]:
    """Notes said by then; those that do not say when, written by then."""
    return (
        Not(Range("occurred_at", gt=instant)),
        AnyOf((Range("occurred_at", lte=instant), Range("created_at", lte=instant))),
    )
