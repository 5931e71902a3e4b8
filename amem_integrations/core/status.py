"""The state of a note beside its text: status, tier, and counts of what happened to it.

An extension of the paper, which keeps all notes alike for ever. `Life` is written without raising
the note's version, since using a memory does not change it. The annotations of this module say
what a field may hold, for `stores.codec` and for imports.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Annotated, TypeAlias

STANDING = ("tier", "valid_until", "contested_by", "merged_into", "trust")
"""The fields of a note that say how far it still holds; every change of one is a revision."""

UNDERSTOOD = ("keywords", "tags", "context", "questions")
"""The fields of a note that an analyst writes."""
UNDERSTOOD_LISTS = ("keywords", "tags", "questions")
"""Those of them that are lists."""

RECORDED = ("content", "source", *UNDERSTOOD, "links", "status", *STANDING)
"""The fields of a note whose changes are kept as revisions."""

SOURCES = ("user", "assistant", "tool", "import", "web")
"""The kinds of sources that a caller can name; None is unknown."""


class Mark(Enum):
    """What a text or tuple of a note stands for."""

    OWN_ID = "the id of the note that holds it"
    NOTE_ID = "the id of another note"
    NAMESPACE = "the namespace of the note"
    JSON = "JSON of the caller"


@dataclass(frozen=True, slots=True)
class Bounds:
    """From `low` to below `high`: a whole number, or the bytes of a text; to `high`: a fraction."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Length:
    """The most characters of a text, or values of a tuple."""

    most: int


MOST_LINKS = MOST_REVISIONS = 10_000
"""How many of each an export has of one note, the strongest or newest, and an import takes."""
_MANY = Length(10_000)
# A session, and perhaps where in it.
_Occasion: TypeAlias = Annotated[str, Bounds(0, 2 * 4096)]

OwnId: TypeAlias = Annotated[str, Mark.OWN_ID]
NoteId: TypeAlias = Annotated[str, Mark.NOTE_ID]
JsonText: TypeAlias = Annotated[str, Mark.JSON]
Count: TypeAlias = Annotated[int, Bounds(0, 2**53)]
Share: TypeAlias = Annotated[float, Bounds(0, 1)]


class Status(StrEnum):
    """Where a note stands between being accepted and being understood.

    Attributes:
        RAW: it waits to be formed; it can be found.
        PLAIN: it is kept as it is: it can be found, and nothing forms it or links to it unless
            asked to (a note whose formation was undone).
        SKIPPED: a turn that says nothing new by itself: small talk, a bare question, a repetition.
            It is context for the turns beside it. Nothing forms it, links to it or finds it,
            unless asked to.
        FORMED: it was understood, and linked where there was something to link it to.
        PARKED: forming it was given up after failures; it can be found, and `retry` takes it
            up again.
        AUDITED: it is under audit: too much contradicts it. Until somebody settles that, it is
            found behind others and marked in prompts.
        QUARANTINED: it is under audit, and no search finds it, as the policy says so.
        ARCHIVED: it was set aside, and no search finds it until it is restored.

    Examples:
        >>> from amem_integrations import Status
        >>> note = memory.add("Tea is served at four", formation="off")
        >>> note.status is Status.RAW, note.status == "raw"
        (True, True)
    """

    RAW = "raw"
    PLAIN = "plain"
    SKIPPED = "skipped"
    FORMED = "formed"
    PARKED = "parked"
    AUDITED = "audited"
    QUARANTINED = "quarantined"
    ARCHIVED = "archived"


UNDER_AUDIT = (Status.AUDITED, Status.QUARANTINED)

SHOWN = (Status.RAW, Status.PLAIN, Status.FORMED, Status.PARKED, Status.AUDITED)
"""Those of the notes that recall finds."""

AT_HAND = (*SHOWN, Status.SKIPPED)
"""Those that nobody set aside: skipped turns are read as the context of others."""

TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    # Back to plain by undoing what a note did to others.
    Status.RAW: frozenset(Status) - {Status.ARCHIVED},
    Status.PLAIN: frozenset(Status),
    Status.SKIPPED: frozenset(Status),
    Status.FORMED: frozenset(Status),
    Status.PARKED: frozenset({Status.RAW, Status.PLAIN, Status.ARCHIVED, *UNDER_AUDIT}),
    Status.AUDITED: frozenset(Status),
    Status.QUARANTINED: frozenset(Status),
    # Brought back, it is what it was before.
    Status.ARCHIVED: frozenset(Status),
}


class Tier(StrEnum):
    """How long a note is believed without being confirmed.

    Attributes:
        SHORT: days.
        MID: weeks.
        LONG: years.

    Examples:
        >>> note = memory.add("Tea is served at four")
        >>> note.tier == "short"
        True
    """

    SHORT = "short"
    MID = "mid"
    LONG = "long"


@dataclass(frozen=True, slots=True)
class Life:
    """What happened to a note so far.

    Attributes:
        clean: uses in a prompt that were reported to have helped.
        conflicting: uses that were reported to contradict.
        conflicts: when the conflicting uses since the last clean one were, the newest five or as
            many as the policy asks for.
        used_at: the last use of either kind.
        occasions: the sessions in which it was said, repeated or used, the newest eight or as many
            as the policy asks for.
        confirmations: uses on an occasion of their own, and repetitions.
        confirmed_at: the newest of these.
        supports: independent sources that say the same in another session.
        tiered_at: since when it is in its tier; None since it was made.
        counted: up to which report of use these figures go, in microseconds since 1970.

    Examples:
        >>> note = memory.add("Tea is served at four", session="sunday")
        >>> _ = memory.lifecycle.feedback(note, session="monday"), memory.lifecycle.maintain()
        >>> life = memory.get(note).life
        >>> life.clean, life.conflicting, life.occasions
        (1, 0, ('sunday #0', 'monday'))
    """

    clean: Count = 0
    conflicting: Count = 0
    conflicts: Annotated[tuple[datetime, ...], _MANY] = ()
    used_at: datetime | None = None
    occasions: Annotated[tuple[_Occasion, ...], _MANY] = ()
    confirmations: Count = 0
    confirmed_at: datetime | None = None
    supports: Count = 0
    tiered_at: datetime | None = None
    counted: Annotated[int, Bounds(0, 2**63)] = 0


NEW = Life()
