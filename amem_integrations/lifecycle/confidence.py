"""How far a note is believed now: one readable function for each part.

Pure. Only the inputs are stored, on the note, so that a value is always that of the moment it is
asked for, and can be explained. Ours, not the paper's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from amem_integrations.core.note import LASTING, Link, Note
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy

FLOOR = 0.1
LEAST_WEIGHT = 1e-6
"""What use and time leave of a link."""
_DAY = timedelta(days=1)
_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}


def source_of(note: Note, policy: Policy = DEFAULT_POLICY) -> str | None:
    """Return the kind of source of a note; None if unknown.

    Without a `source`, a speaker counts who is a role of a chat, or one of `policy.users`. Any
    other name could be anything, such as the title of a web page.
    """
    if note.source is not None or note.speaker is None:
        return note.source
    return "user" if note.speaker in policy.users else _ROLES.get(note.speaker.casefold())


def voice_of(note: Note, policy: Policy = DEFAULT_POLICY) -> tuple[str | None, str | None]:
    """Return whose word a note is: a user by name, and any other kind of source as one.

    Whoever writes imports, pages or answers chooses their names.
    """
    source = source_of(note, policy)
    return source, note.speaker if source == "user" else None


def source_trust(note: Note, policy: Policy = DEFAULT_POLICY) -> float:
    """S: how far the kind of source is believed."""
    return policy.source_trust[source_of(note, policy)]


def consensus(note: Note) -> float:
    """U: 1 - 2^-n, for n independent sources that say the same in another session."""
    return 1 - 0.5**note.life.supports


def coherence(note: Note) -> float:
    """H: 1 / (1 + n), for n contradictions that nobody settled."""
    return 1 / (1 + len(note.contested_by))


def base(note: Note, policy: Policy = DEFAULT_POLICY) -> float:
    """Return .4 S + .3 U + .3 H, the confidence in a note that was confirmed just now.

    What others say lifts it no higher than the best kind of source is trusted.
    """
    alone = 0.4 * source_trust(note, policy) + 0.3 * coherence(note)
    most = max(alone, *policy.source_trust.values())
    return min(alone + 0.3 * consensus(note), most)


def confirmed_at(note: Note) -> datetime:
    """Return when a note was last confirmed: used or repeated on an occasion, else said."""
    said = note.occurred_at or note.created_at
    return max(said, note.life.confirmed_at or said)


def half_life(note: Note, policy: Policy = DEFAULT_POLICY) -> timedelta:
    """Return the half-life of the note's tier, longer with each confirmation."""
    return policy.half_lives[note.tier] * (
        1 + min(note.life.confirmations, policy.max_confirmations)
    )


def confidence(note: Note, now: datetime, policy: Policy = DEFAULT_POLICY) -> float:
    """Return how far `note` is believed at `now`: its base, less with the time since."""
    unconfirmed = max(timedelta(), now - confirmed_at(note))
    return FLOOR + (base(note, policy) - FLOOR) * 2.0 ** (-unconfirmed / half_life(note, policy))


def trust_by(policy: Policy) -> Callable[[Note], float]:
    """Return `source_trust` by one policy: what say notes have in each other.

    Neither age nor support counts: others that say the same give nobody more say.
    """
    return lambda note: source_trust(note, policy)


def weight_now(link: Link, now: datetime, policy: Policy) -> float:
    """Return the weight, halved for each half-life since the link was made or used."""
    if link.kind in LASTING:
        return link.weight
    unused = max(timedelta(), now - (link.used_at or link.created_at))
    return max(LEAST_WEIGHT, link.weight * 2.0 ** (-unused / policy.link_half_life))


def current_link(link: Link, now: datetime, policy: Policy) -> Link:
    """Return the link with the weight it has now."""
    weight = max(LEAST_WEIGHT, round(weight_now(link, now, policy), 4))
    return link if weight == link.weight else replace(link, weight=weight)


def believed(note: Note, now: datetime, policy: Policy) -> Note:
    """Return the note with its confidence and link weights of now, for whoever reads it.

    Never for a note that is going to be written again.
    """
    links = tuple(current_link(link, now, policy) for link in note.links)
    # Four places: what was read twice in a row is the same.
    return replace(note, confidence=round(confidence(note, now, policy), 4), links=links)


def all_believed(notes: Sequence[Note], now: datetime, policy: Policy | None) -> list[Note]:
    """Return `believed` of each note; the notes as they are without a policy."""
    return list(notes) if policy is None else [believed(note, now, policy) for note in notes]


def backlinks_believed(note: Note, now: datetime, policy: Policy) -> Note:
    """Return a believed note whose links from other notes have the weights of now, too."""
    incoming = (current_link(link, now, policy) for link in note.incoming)
    return replace(note, links=(*note.outgoing, *incoming))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A confidence and how it comes about; as text it is the sum, worked out.

    Attributes:
        confidence: how far the note is believed now, in [0, 1].
        source: the kind of source it came from, None if unknown.
        source_trust: how far that source is believed.
        consensus: how much others that say the same add, in [0, 1].
        coherence: what open contradictions leave, in [0, 1].
        base: what these come to, whatever the note's age.
        days: days since it was last confirmed.
        half_life_days: after how many days half of it is gone.
        tier: "short", "mid" or "long".
        confirmations: how often it was confirmed.
        supports: how many independent sources say the same in another session.
        contested_by: ids of the notes that contradict it.
        trust: the least trust of any note that changed how it is understood.

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
            f"+ .3 x {self.consensus:.2f} ({self.supports} sources say the same) "
            f"+ .3 x {self.coherence:.2f} ({len(self.contested_by)} open contradictions); "
            f"tier {self.tier}, confirmed {self.confirmations} times"
        )


def explain(note: Note, now: datetime, policy: Policy = DEFAULT_POLICY) -> Explanation:
    """Return how the confidence in a note comes about."""
    return Explanation(
        confidence=confidence(note, now, policy),
        source=source_of(note, policy),
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
