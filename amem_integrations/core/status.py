"""How a note stands beside what it says: its status, its tier, how long it held, what became of it.

`Life` counts what happened to a note. It is written without raising the note's version, since
using a memory is no change of it. The rest are fields of the note that `FIELDS` names; every
change of one is a revision. An extension of the paper, which keeps all notes alike for ever.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

FIELDS = ("tier", "valid_until", "contested_by", "merged_into", "trust")
"""The fields of a note that say how it stands, as its payload and its revisions name them."""


class Status(StrEnum):
    """Where a note stands between being accepted and being understood.

    Attributes:
        RAW: it waits to be formed; it can be found.
        PLAIN: it is kept as it is: it can be found, and nothing forms it or links to it unless
            asked to (a turn that says nothing new).
        FORMED: it was understood, and linked where there was something to link it to.
        PARKED: forming it was given up for now; it can be found, and `retry` takes it up again.
        QUARANTINED: it is under audit, and no search finds it until that is settled.
        ARCHIVED: it was set aside, and no search finds it until it is restored.

    Examples:
        >>> from amem_integrations import Status
        >>> note = memory.add("Tea is served at four", formation="off")
        >>> note.status is Status.RAW, note.status == "raw"
        (True, True)
    """

    RAW = "raw"
    PLAIN = "plain"
    FORMED = "formed"
    PARKED = "parked"
    QUARANTINED = "quarantined"
    ARCHIVED = "archived"


TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    # Back to plain by undoing an update, or what a note did to others.
    Status.RAW: frozenset(Status) - {Status.ARCHIVED},
    Status.PLAIN: frozenset(Status),
    Status.FORMED: frozenset(Status),
    Status.PARKED: frozenset({Status.RAW, Status.PLAIN, Status.QUARANTINED, Status.ARCHIVED}),
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
        supports: notes of another session and source that say the same.
        tiered_at: since when it is in its tier; None since it was made.
        counted: up to which report of use these figures go, in microseconds since 1970.

    Examples:
        >>> note = memory.add("Tea is served at four", session="sunday")
        >>> _ = memory.lifecycle.feedback(note, session="monday"), memory.lifecycle.maintain()
        >>> life = memory.get(note).life
        >>> life.clean, life.conflicting, life.occasions
        (1, 0, ('sunday', 'monday'))
    """

    clean: int = 0
    conflicting: int = 0
    conflicts: tuple[datetime, ...] = ()
    used_at: datetime | None = None
    occasions: tuple[str, ...] = ()
    confirmations: int = 0
    confirmed_at: datetime | None = None
    supports: int = 0
    tiered_at: datetime | None = None
    counted: int = 0


NEW = Life()


def life_json(life: Life) -> str:
    """As a payload keeps it: what differs from a note that nothing happened to."""
    data: dict[str, Any] = {
        "clean": life.clean,
        "conflicting": life.conflicting,
        "conflicts": [_micros(moment) for moment in life.conflicts],
        "used_at": _micros(life.used_at),
        "occasions": list(life.occasions),
        "confirmations": life.confirmations,
        "confirmed_at": _micros(life.confirmed_at),
        "supports": life.supports,
        "tiered_at": _micros(life.tiered_at),
        "counted": life.counted,
    }
    return json.dumps({name: value for name, value in data.items() if value}, ensure_ascii=False)


def life_from(text: str) -> Life:
    data = json.loads(text)
    for name in ("used_at", "confirmed_at", "tiered_at"):
        data[name] = _moment(data.get(name))
    data["conflicts"] = tuple(_EPOCH + each * _MICROSECOND for each in data.get("conflicts", ()))
    data["occasions"] = tuple(data.get("occasions", ()))
    return Life(**data)


def standing_from(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a note among `data`, from what a payload or a revision keeps of them."""
    found = {name: data[name] for name in FIELDS if name in data}
    if "tier" in found:
        found["tier"] = Tier(found["tier"])
    if "valid_until" in found:
        found["valid_until"] = _moment(found["valid_until"])
    if "contested_by" in found:
        found["contested_by"] = tuple(found["contested_by"])
    return found


def standing_json(
    tier: Tier,
    valid_until: datetime | None,
    contested_by: tuple[str, ...],
    merged_into: str | None,
    trust: float,
) -> dict[str, Any]:
    """The fields that `FIELDS` names, as JSON has them."""
    return {
        "tier": str(tier),
        "valid_until": _micros(valid_until),
        "contested_by": list(contested_by),
        "merged_into": merged_into,
        "trust": trust,
    }


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + micros * _MICROSECOND
