"""The numbers behind the health report of a namespace, summed up note by note.

Pure; `health` reads the notes and says what each number means. Each figure is an attribute here,
None if there is nothing to measure it by. Ours, not the paper's.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.core.status import SHOWN, Tier
from amem_integrations.core.usage import Usage
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.limits import idle_time
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import UPKEEP
from amem_integrations.recall.rerank import same_as
from amem_integrations.revisions.contradiction import CONTRADICTED
from amem_integrations.revisions.entry import Entry

_HOUR = timedelta(hours=1)
_BY_OTHERS = ("evolved", *CONTRADICTED)
"""Revisions of a note that a newer note causes."""
_UNCHANGED = UPKEEP | {"formed", "linked"}
"""Revisions that change neither what a note says nor how far it is believed."""


@dataclass
class Metrics:
    """The sums. A note is "at hand" if recall finds it.

    covers: whether the embedder knows the script of a text. counts: notes by status. unreadable:
    damaged notes, which are in no other number. proposals: that need approval. uncounted: reports
    of use that maintenance has not counted yet. echo: the echo index; None without links.
    usage: what model calls took. maintained: whether anybody runs maintenance.
    """

    now: datetime
    policy: Policy
    covers: Callable[[str], bool]
    counts: Counter[str] = field(default_factory=Counter[str])
    unreadable: int = 0
    proposals: int = 0
    uncounted: int = 0
    echo: float | None = None
    usage: Usage = field(default_factory=Usage)
    maintained: bool = False
    tiers: Counter[Tier] = field(default_factory=Counter[Tier])
    contested: int = 0
    outdated: int = 0
    clean: int = 0
    conflicting: int = 0
    formed: set[str] = field(default_factory=set[str])
    _ids: set[str] = field(default_factory=set[str])
    _at_hand: set[str] = field(default_factory=set[str])
    _texts: set[int] = field(default_factory=set[int])
    _links: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _confidence: float = 0.0
    _foreign: int = 0
    _used: int = 0
    _idle: int = 0
    _revised: int = 0
    _raw_since: datetime | None = None
    _new: dict[str, datetime] = field(default_factory=dict[str, datetime])
    _oldest_changed: dict[str, datetime] = field(default_factory=dict[str, datetime])
    _changes: int = 0
    _causes: Counter[str] = field(default_factory=Counter[str])
    _conflicts: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add(self, entry: Entry) -> None:
        """Add a note with its history."""
        note = entry.note
        coherent = {revision.version for revision in entry.coherent}
        self._ids.add(note.id)
        self.clean += note.life.clean
        self.conflicting += note.life.conflicting
        if note.status in SHOWN:
            self._add_at_hand(entry)
        self._conflicts.update((note.id, other) for other in note.contested_by)
        for revision in entry.revisions:
            self._add_change(note, revision, coherent=revision.version in coherent)
        self.counts[str(note.status)] += 1

    def _add_at_hand(self, entry: Entry) -> None:
        note, recent = entry.note, self.now - self.policy.active_within
        self._at_hand.add(note.id)
        self.tiers[note.tier] += 1
        self.contested += bool(note.contested_by)
        self.outdated += note.valid_until is not None and note.valid_until <= self.now
        self._texts.add(hash(same_as(note)))
        self._links += [(link.source, link.to) for link in note.outgoing]
        self._confidence += confidence(note, self.now, self.policy)
        self._foreign += not self.covers(note.content)
        self._used += note.life.used_at is not None and note.life.used_at >= recent
        if note.created_at >= recent:
            self._new[note.id] = note.created_at
        if note.status is Status.FORMED:
            self.formed.add(note.id)
        if note.status is Status.RAW:
            since = max(note.updated_at, note.revision.at if note.revision else note.updated_at)
            self._raw_since = min(since, self._raw_since or since)
        if note.tier is Tier.MID:
            self._idle += idle_time(note, self.now) > self.policy.idle_after
        if note.tier is not Tier.SHORT:
            self._revised += any(
                revision.at >= recent and revision.kind not in _UNCHANGED
                for revision in entry.revisions
            )

    def _add_change(self, note: Note, revision: Revision, *, coherent: bool) -> None:
        """coherent: whether the later revisions lead from this one to the note as it is."""
        # Forgetting what a revision drew on may leave it without a change.
        if revision.changes:
            self._changes += 1
            if coherent:
                self._causes[revision.cause] += 1
        if revision.kind in _BY_OTHERS and revision.cause != note.id:
            known = self._oldest_changed.get(revision.cause, note.created_at)
            self._oldest_changed[revision.cause] = min(known, note.created_at)
        if revision.kind in CONTRADICTED:
            self._conflicts.add((note.id, revision.cause))

    def value(self, name: str) -> float | None:
        """The figure of that name: an attribute, a status or a tier."""
        if name in set(Status):
            return self.counts[name]
        return self.tiers[Tier(name)] if name in set(Tier) else getattr(self, name)

    @property
    def notes(self) -> int:
        return self.counts.total() + self.unreadable

    @property
    def new(self) -> int:
        """The notes at hand made within `policy.active_within`."""
        return len(self._new)

    @property
    def links_per_note(self) -> float | None:
        """Links between notes at hand, for each of these."""
        return _share(len(self._links_at_hand()), len(self._at_hand))

    @property
    def orphans(self) -> float | None:
        """Of the formed notes, those without a link from or to a note at hand."""
        linked = {end for link in self._links_at_hand() for end in link}
        return _share(len(self.formed - linked), len(self.formed))

    @property
    def duplicates(self) -> float | None:
        """Of the notes at hand, those that are near-identical to another, which is not counted."""
        return _share(len(self._at_hand) - len(self._texts), len(self._at_hand))

    @property
    def foreign_script(self) -> float | None:
        """Of the notes at hand, those that are mostly in a script the embedder does not know."""
        return _share(self._foreign, len(self._at_hand))

    @property
    def confidence(self) -> float | None:
        """The mean of the notes at hand."""
        return _share(self._confidence, len(self._at_hand))

    @property
    def oldest_wait(self) -> float | None:
        """Hours for which the oldest raw note has been raw; None if no note is."""
        return None if self._raw_since is None else (self.now - self._raw_since) / _HOUR

    @property
    def activity(self) -> float | None:
        """Of the notes at hand, those used within `policy.active_within`."""
        return _share(self._used, len(self._at_hand))

    @property
    def idle_mid(self) -> float | None:
        """The share of mid-term notes that are idle (`policy.idle_after`)."""
        return _share(self._idle, self.tiers[Tier.MID])

    @property
    def stability(self) -> float | None:
        """Of the mid- and long-term notes, those not revised within `policy.active_within`."""
        settled = self.tiers[Tier.MID] + self.tiers[Tier.LONG]
        return _share(settled - self._revised, settled)

    @property
    def plasticity(self) -> float | None:
        """The share of new notes (`policy.active_within`) that changed an older one."""
        changed = sum(self._oldest_changed.get(id, made) < made for id, made in self._new.items())
        return _share(changed, len(self._new))

    @property
    def consistency(self) -> float | None:
        """Of the counted uses, the clean ones."""
        return _share(self.clean, self.clean + self.conflicting)

    @property
    def transparency(self) -> float | None:
        """Of the changes, those whose cause is stored and whose later history has no gap."""
        known = sum(count for cause, count in self._causes.items() if cause in self._ids)
        return _share(known, self._changes)

    @property
    def traceability(self) -> float | None:
        """Of the conflicts, open or settled, those whose other note is stored.

        A conflict is a note and another that contradicts it.
        """
        known = sum(cause in self._ids for _, cause in self._conflicts)
        return _share(known, len(self._conflicts))

    @property
    def calls_per_note(self) -> float | None:
        return _share(self.usage.calls, self.notes)

    @property
    def tokens_per_note(self) -> float | None:
        return _share(self.usage.tokens_in + self.usage.tokens_out, self.notes)

    @property
    def seconds_per_note(self) -> float | None:
        return _share(self.usage.seconds, self.notes)

    def _links_at_hand(self) -> list[tuple[str, str]]:
        return [link for link in self._links if self._at_hand.issuperset(link)]


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
