"""How far a note is to be believed now, as one readable function for each part of it.

Pure. Nothing of this is stored: what is stored are the inputs, on the note, so that the value
is always that of the moment it is asked for, and can be explained. Ours, not the paper's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from amem_integrations.core.note import Note
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy

FLOOR = 0.1
_DAY = timedelta(days=1)
_OTHERS = {"assistant": "assistant", "ai": "assistant", "tool": "tool", "function": "tool"}


def source_of(note: Note) -> str | None:
    """What kind of source it came from: as was said, else by who speaks; None: not known."""
    if note.source is not None or note.speaker is None:
        return note.source
    return _OTHERS.get(note.speaker.casefold(), "user")


def source_trust(note: Note, policy: Policy = DEFAULT_POLICY) -> float:
    """S: how far its kind of source is believed."""
    return policy.sources[source_of(note)]


def consensus(note: Note) -> float:
    """U: 1 - 2^-n, for n notes of another session and source that say the same."""
    return 1 - 0.5**note.life.supports


def coherence(note: Note) -> float:
    """H: 1 / (1 + the contradictions that nobody settled)."""
    return 1 / (1 + len(note.contested_by))


def base(note: Note, policy: Policy = DEFAULT_POLICY) -> float:
    """.4 S + .3 U + .3 H: the confidence in a note that was confirmed just now."""
    return 0.4 * source_trust(note, policy) + 0.3 * consensus(note) + 0.3 * coherence(note)


def confirmed_at(note: Note) -> datetime:
    """When it was last confirmed: used or repeated on an occasion, else said."""
    said = note.occurred_at or note.created_at
    return max(said, note.life.confirmed_at or said)


def half_life(note: Note, policy: Policy = DEFAULT_POLICY) -> timedelta:
    """That of its tier, longer with each confirmation."""
    return policy.half_lives[note.tier] * (1 + min(note.life.confirmations, policy.confirmations))


def confidence(note: Note, now: datetime, policy: Policy = DEFAULT_POLICY) -> float:
    """How far `note` is to be believed at `now`: its base, worn off by the time since."""
    unconfirmed = max(timedelta(), now - confirmed_at(note))
    return FLOOR + (base(note, policy) - FLOOR) * 2.0 ** (-unconfirmed / half_life(note, policy))


def believing(policy: Policy) -> Callable[[Note], float]:
    """`base` by one policy: how far notes are to be believed beside each other."""
    return lambda note: base(note, policy)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A confidence and what went into it; as text it is the sum, worked out.

    Attributes:
        confidence: how far the note is to be believed now, in [0, 1].
        source: what kind of source it is from, None if nobody said.
        source_trust: how far that is believed.
        consensus: how much others that say the same add, in [0, 1].
        coherence: what open contradictions leave, in [0, 1].
        base: what these come to, whatever its age.
        days: since it was last confirmed.
        half_life_days: after how many half of it is gone.
        tier: "short", "mid" or "long".
        confirmations: how often it was confirmed.
        supports: notes of another session and source that say the same.
        contested_by: ids of the notes that contradict it.
        trust: what the least believed of those had who changed how it is understood.

    Examples:
        >>> note = memory.add("Tea is served at four", source="user")
        >>> explanation = memory.lifecycle.explain(note)
        >>> explanation.tier, explanation.half_life_days, explanation.confirmations
        ('short', 7.0, 0)
        >>> print(explanation)
        confidence 0... = ...
    """

    confidence: float
    source: str | None
    source_trust: float
    consensus: float
    coherence: float
    base: float
    days: float
    half_life_days: float
    tier: str
    confirmations: int
    supports: int
    contested_by: tuple[str, ...]
    trust: float

    def __str__(self) -> str:
        return (
            f"confidence {self.confidence:.2f} = {FLOOR} + (base {self.base:.2f} - {FLOOR}) "
            f"x 2^(-{self.days:.1f} days / {self.half_life_days:.0f}); "
            f"base = .4 x {self.source_trust:.2f} (source: {self.source or 'not known'}) "
            f"+ .3 x {self.consensus:.2f} ({self.supports} notes say the same) "
            f"+ .3 x {self.coherence:.2f} ({len(self.contested_by)} open contradictions); "
            f"tier {self.tier}, confirmed {self.confirmations} times"
        )


def explain(note: Note, now: datetime, policy: Policy = DEFAULT_POLICY) -> Explanation:
    """How the confidence in a note comes about."""
    return Explanation(
        confidence=confidence(note, now, policy),
        source=source_of(note),
        source_trust=source_trust(note, policy),
        consensus=consensus(note),
        coherence=coherence(note),
        base=base(note, policy),
        days=max(timedelta(), now - confirmed_at(note)) / _DAY,
        half_life_days=half_life(note, policy) / _DAY,
        tier=str(note.tier),
        confirmations=note.life.confirmations,
        supports=note.life.supports,
        contested_by=note.contested_by,
        trust=note.trust,
    )
