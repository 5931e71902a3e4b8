"""What the health of a namespace is measured by: its notes and their changes, added up one by one.

Pure; `health` reads the notes, and says what the figures mean. Each figure is one readable
property here, None where there is nothing that it could be measured by. Ours, not the paper's.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from amem_integrations.core.note import Note, Revision, Status
from amem_integrations.core.status import Tier
from amem_integrations.formation.candidates import SHOWN
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.limits import idle_time
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import UPKEEP
from amem_integrations.revisions.contradiction import CONTRADICTED
from amem_integrations.revisions.entry import Entry

_HOUR = timedelta(hours=1)
_BY_OTHERS = ("evolved", *CONTRADICTED)
"""The revisions of a note that a newer one brings about."""
_AS_IT_WAS = UPKEEP | {"formed", "linked"}
"""Those after which a note says what it said before, and is believed as it was."""


@dataclass
class Vitals:
    """The sums. A note is "at hand" if it is neither archived nor under audit.

    same: what near-identical notes have in common. covers: whether the embedder knows the script
    of a text.
    """

    now: datetime
    policy: Policy
    same: Callable[[Note], Hashable]
    covers: Callable[[str], bool]
    ids: set[str] = field(default_factory=set[str])
    at_hand: set[str] = field(default_factory=set[str])
    formed: set[str] = field(default_factory=set[str])
    tiers: Counter[Tier] = field(default_factory=Counter[Tier])
    contested: int = 0
    clean: int = 0
    conflicting: int = 0
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

    def see(self, entry: Entry) -> None:
        """Add a note with its history."""
        note = entry.note
        joined = {each.version for each in entry.coherent}
        self.ids.add(note.id)
        self.clean += note.life.clean
        self.conflicting += note.life.conflicting
        if note.status in SHOWN:
            self._see_at_hand(entry)
        self._conflicts.update((note.id, other) for other in note.contested_by)
        for revision in entry.revisions:
            self._see_change(note, revision, told=revision.version in joined)

    def _see_at_hand(self, entry: Entry) -> None:
        note, recent = entry.note, self.now - self.policy.active
        self.at_hand.add(note.id)
        self.tiers[note.tier] += 1
        self.contested += bool(note.contested_by)
        self._texts.add(hash(self.same(note)))
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
            self._idle += idle_time(note, self.now) > self.policy.idle
        if note.tier is not Tier.SHORT:
            self._revised += any(
                each.at >= recent and each.kind not in _AS_IT_WAS for each in entry.revisions
            )

    def _see_change(self, note: Note, revision: Revision, *, told: bool) -> None:
        """told: whether what was before and after leads to the note as it is now."""
        # Some are left without a change, when what they drew on is forgotten.
        if revision.changes:
            self._changes += 1
            if told:
                self._causes[revision.cause] += 1
        if revision.kind in _BY_OTHERS and revision.cause != note.id:
            known = self._oldest_changed.get(revision.cause, note.created_at)
            self._oldest_changed[revision.cause] = min(known, note.created_at)
        if revision.kind in CONTRADICTED:
            self._conflicts.add((note.id, revision.cause))

    @property
    def links_per_note(self) -> float | None:
        """Links between notes at hand, for each of these."""
        return _share(len(self._links_at_hand()), len(self.at_hand))

    @property
    def orphans(self) -> float | None:
        """Of the formed notes, those without a link from or to a note at hand."""
        linked = {end for link in self._links_at_hand() for end in link}
        return _share(len(self.formed - linked), len(self.formed))

    @property
    def duplicates(self) -> float | None:
        """Of the notes at hand, those that are near-identical to another, which is not counted."""
        return _share(len(self.at_hand) - len(self._texts), len(self.at_hand))

    @property
    def foreign_script(self) -> float | None:
        """Of the notes at hand, those that are mostly in a script the embedder does not know."""
        return _share(self._foreign, len(self.at_hand))

    @property
    def confidence(self) -> float | None:
        """Of the notes at hand, the mean."""
        return _share(self._confidence, len(self.at_hand))

    @property
    def oldest_wait(self) -> float | None:
        """Hours for which the oldest raw note has been raw; None where none is."""
        return None if self._raw_since is None else (self.now - self._raw_since) / _HOUR

    @property
    def activity(self) -> float | None:
        """Of the notes at hand, those used within `policy.active`."""
        return _share(self._used, len(self.at_hand))

    @property
    def idle_mid(self) -> float | None:
        """Of the mid notes, those neither said, confirmed nor used within `policy.idle`."""
        return _share(self._idle, self.tiers[Tier.MID])

    @property
    def stability(self) -> float | None:
        """Of the mid and long notes, those not revised within `policy.active`."""
        settled = self.tiers[Tier.MID] + self.tiers[Tier.LONG]
        return _share(settled - self._revised, settled)

    @property
    def plasticity(self) -> float | None:
        """Of the notes made within `policy.active`, those that changed one older than they are."""
        changed = sum(self._oldest_changed.get(id, made) < made for id, made in self._new.items())
        return _share(changed, len(self._new))

    @property
    def consistency(self) -> float | None:
        """Of the uses that are counted, the clean ones."""
        return _share(self.clean, self.clean + self.conflicting)

    @property
    def transparency(self) -> float | None:
        """Of the changes, those with a cause that is there, and before and after without a gap."""
        told = sum(count for cause, count in self._causes.items() if cause in self.ids)
        return _share(told, self._changes)

    @property
    def traceability(self) -> float | None:
        """Of the conflicts, open or settled, those with the note that says otherwise still there.

        A conflict is a note and another that says otherwise.
        """
        resolved = sum(cause in self.ids for _, cause in self._conflicts)
        return _share(resolved, len(self._conflicts))

    def _links_at_hand(self) -> list[tuple[str, str]]:
        return [link for link in self._links if self.at_hand.issuperset(link)]


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
