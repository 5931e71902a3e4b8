"""The state of the formation graph, the notes of a run, and the settings of formation.

The state is JSON-native: ids, versions and proposals. Content travels in the run's context,
so that no checkpoint holds it; what a model proposed is in the state.
"""

import hashlib
import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, TypedDict, cast

from amem_integrations.core.analysis import (
    Evolution,
    Judgement,
    LinkProposal,
    Understanding,
)
from amem_integrations.core.engine import Point, Vector
from amem_integrations.core.filters import ids
from amem_integrations.core.io import IO, Analyst
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
from amem_integrations.core.usage import Ledger
from amem_integrations.revisions.proposals import Believe
from amem_integrations.stores.codec import note_from, within
from amem_integrations.stores.read import load
from amem_integrations.stores.write import passages

__all__ = ["FormationState", "Mode", "initial_state"]

Mode = Literal["fused", "staged", "batched", "auto"]
"""How often a model is asked about a note, see `AgenticMemory`."""

# What one call keeps of the notes that it has read.
_MOST_NOTES, _MOST_VECTORS = 1024, 512


@dataclass(frozen=True)
class Settings:
    """How notes are formed.

    mode: "fused" asks once a note, "staged" three times (paper §3), "batched" once for up to
        `batch` notes; "auto" the same, and for what a note is about alone where that fails.
    neighbours: the maximum number of candidates.
    link, evolve: switches for the two later steps (the paper's ablations).
    believe: how far a note is believed. A change proposed by a note that is believed less than
        its target by more than the share `trust_gap` waits. None: every change is applied, and
        contradictions change nothing.
    """

    analyst: Analyst
    mode: Mode = "fused"
    neighbours: int = 8
    batch: int = 8
    link: bool = True
    evolve: bool = True
    ledger: Ledger = field(default_factory=Ledger)
    believe: Believe | None = None
    trust_gap: float = 1.0

    @property
    def is_batched(self) -> bool:
        return self.mode in ("batched", "auto")

    @property
    def analyst_name(self) -> str:
        """The analyst and the mode, as revisions record them."""
        return self.analyst_in(self.mode)

    def analyst_in(self, mode: Mode) -> str:
        return f"{self.analyst.name}/{mode}"


class NoteRef(TypedDict):
    """A note as it was read; the commit checks `version` again."""

    id: str
    version: int


class ReadRef(NoteRef):
    """A note that was read to analyse another.

    version: an evolution of an older version is merged, not overwritten. digest: of its content;
    if that changes, the other note is analysed again.
    """

    digest: str


class CandidateRef(ReadRef):
    """A candidate as it was found."""

    similarity: float
    rank: int
    reverse_rank: int | None


class Outcome(TypedDict):
    """How the formation of a note ended.

    status: "formed"; "failed", with the reason on the note; "stale", to be analysed again; "gone";
    "superseded" by another formation or an update; "rejected" in review.
    again: after a failure, the minimum of seconds before a retry; None if a retry cannot help.
    outage: whether other notes would fail as well.
    """

    status: str
    reason: str
    links: int
    evolutions: int
    again: float | None
    outage: bool


class FormationState(TypedDict, total=False):
    """The state of the formation graph; keys of the mappings are note ids.

    Attributes:
        namespace: labels of the namespace of all notes.
        notes: what is to be formed, with the version that was read.
        candidates: for each note, the older ones that it may be linked to.
        batched: the notes that were analysed together, each with every note that was shown with
            it. A note that is missing was analysed alone, with its candidates.
        understanding: keywords, tags, context and questions proposed for each.
        links: links proposed for each.
        evolutions: changes of other notes proposed for each.
        outcomes: how it ended for each.

    Examples:
        >>> from amem_integrations.formation.state import initial_state
        >>> raw = memory.add("Tea is served at four", formation="off")
        >>> state = memory.graph().invoke(initial_state([raw]))
        >>> state["outcomes"][raw.id]["status"]
        'formed'
    """

    namespace: list[str]
    notes: list[NoteRef]
    candidates: dict[str, list[CandidateRef]]
    batched: dict[str, list[ReadRef]]
    understanding: dict[str, dict[str, Any]]
    links: dict[str, list[dict[str, Any]]]
    evolutions: dict[str, list[dict[str, Any]]]
    outcomes: dict[str, Outcome]


class Embedded(NamedTuple):
    """A note as it was read, and the vectors of its passages and of its questions."""

    note: Note
    dense: Sequence[Vector]
    questions: Sequence[Vector] = ()


@dataclass(frozen=True, slots=True)
class RunContext:
    """Notes that a run of the graph has read, so that its steps read each once.

    Without one, as after a resume from a checkpoint, each step reads them from the store.

    notes, vectors: by note id. recent: the notes before each, newest first. committed: the notes
    that the run wrote, as they are now.
    """

    notes: dict[str, Note] = field(default_factory=dict[str, Note])
    vectors: dict[str, Embedded] = field(default_factory=dict[str, Embedded])
    committed: dict[str, Note] = field(default_factory=dict[str, Note])
    recent: dict[str, list[Note]] = field(default_factory=dict[str, list[Note]])

    async def load(self, io: IO, note_ids: Iterable[str], namespace: Namespace) -> dict[str, Note]:
        """Return the notes that exist, by id, in the order given."""
        wanted = list(note_ids)
        missing = [id for id in wanted if id not in self.notes]
        if missing:
            self.notes.update(await load(io, missing, namespace))
        return {id: self.notes[id] for id in wanted if id in self.notes}

    async def refresh(self, io: IO, note_ids: Sequence[str], namespace: Namespace) -> None:
        """Read every note again if one of these was changed or forgotten since it was read.

        So no model sees a text that is gone, in a note itself or copied into another.
        """
        where = within(namespace, ids(note_ids))
        points = await io.engine.scroll(where, limit=len(note_ids), fields=("version",))
        versions = {point.id: point.payload["version"] for point in points}
        read = {id: self.notes[id].version for id in note_ids if id in self.notes}
        if any(versions.get(id) != version for id, version in read.items()):
            self.notes.clear()
            self.recent.clear()

    async def points(self, io: IO, note_ids: Iterable[str]) -> None:
        """Read the notes with their vectors that were not read with them before."""
        missing = [id for id in note_ids if id not in self.vectors or id not in self.notes]
        for point in await io.engine.get(missing, vectors=True) if missing else ():
            note = self.notes[point.id] = note_from(point)
            self.vectors[point.id] = Embedded(note, point.dense, point.questions)

    def vectors_by_text(self, notes: Sequence[Note]) -> dict[str, Vector]:
        """The vectors that were read with notes, by the texts that they stand for."""
        found: dict[str, Vector] = {}
        for note in notes:
            if note.id in self.vectors:
                read = self.vectors[note.id]
                # A raw note may have no more than its first passages embedded.
                found.update(zip(passages(read.note), read.dense, strict=False))
                found.update(zip(read.note.questions, read.questions, strict=False))
        return found

    def wrote(self, notes: Sequence[Note], points: Sequence[Point]) -> None:
        """Take over notes as they were written; new vectors of theirs are read where wanted."""
        for note, point in zip(notes, points, strict=True):
            self.notes[note.id] = note
            read = self.vectors.get(note.id)
            if read is None:
                continue
            before, after = (*read.dense, *read.questions), (*point.dense, *point.questions)
            if not _are_identical(before, after):
                del self.vectors[note.id]

    def add(self, new: "RunContext") -> None:
        """Take over what another context has."""
        self.notes.update(new.notes)
        self.vectors.update(new.vectors)

    def trim(self) -> None:
        """Drop what was read first, so that long imports need no more memory than short ones."""
        for kept, most in ((self.notes, _MOST_NOTES), (self.vectors, _MOST_VECTORS)):
            for id in [*itertools.islice(kept, max(len(kept) - most, 0))]:
                del kept[id]

    def clear(self) -> None:
        """Drop what was read: it may have been changed since."""
        self.notes.clear()
        self.vectors.clear()


def _are_identical(some: Sequence[Vector], others: Sequence[Vector]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def initial_state(notes: Sequence[Note]) -> FormationState:
    """Return the input of the graph for raw notes of one namespace.

    Args:
        notes: one or more.

    Examples:
        >>> from amem_integrations.formation.state import initial_state
        >>> raw = memory.add("Tea is served at four", formation="off")
        >>> initial_state([raw]) == {
        ...     "namespace": ["default"],
        ...     "notes": [{"id": raw.id, "version": 1}],
        ... }
        True
    """
    return {
        "namespace": list(notes[0].namespace),
        "notes": [{"id": note.id, "version": note.version} for note in notes],
    }


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the graph over notes of one namespace, as a step sees it."""

    settings: Settings
    state: FormationState
    context: RunContext

    @property
    def namespace(self) -> Namespace:
        return tuple(self.state.get("namespace", ()))

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """A copy of the outcomes so far, by note id."""
        return dict(self.state.get("outcomes", {}))

    @property
    def open_ids(self) -> list[str]:
        """The ids of the notes whose formation has not ended yet."""
        outcomes = self.state.get("outcomes", {})
        return [ref["id"] for ref in self.state.get("notes", ()) if ref["id"] not in outcomes]

    async def load(self, io: IO, note_ids: Iterable[str]) -> dict[str, Note]:
        """Return the notes that exist, by id, in the order given."""
        return await self.context.load(io, note_ids, self.namespace)

    async def open_notes(self, io: IO) -> list[Note]:
        """The notes whose formation has not ended yet, as far as they exist."""
        return list((await self.load(io, self.open_ids)).values())

    def candidates(self, note_id: str) -> list[CandidateRef]:
        return self.state.get("candidates", {}).get(note_id, [])

    def read_with(self, note_id: str) -> Sequence[ReadRef]:
        """The notes that were shown with a note when it was analysed."""
        batched = self.state.get("batched", {})
        return batched[note_id] if note_id in batched else self.candidates(note_id)

    def mode_of(self, note_id: str) -> Mode:
        """The mode in which a note was analysed."""
        if not self.settings.is_batched:
            return self.settings.mode
        return "batched" if note_id in self.state.get("batched", {}) else "fused"

    def as_understood(self, note: Note) -> Note:
        """The note with the understanding that was proposed for it, if one was."""
        data = self.state.get("understanding", {}).get(note.id)
        if data is None:
            return note
        return replace(note, **{name: _tuple(data[name]) for name in data})

    def links(self, note_id: str) -> tuple[LinkProposal, ...]:
        """The links proposed for a note."""
        return tuple(LinkProposal(**data) for data in self.state.get("links", {}).get(note_id, ()))

    def judgement(self, note_id: str) -> Judgement:
        """Everything proposed for a note; there must be an understanding."""
        understanding = self.state.get("understanding", {})[note_id]
        evolutions = self.state.get("evolutions", {}).get(note_id, ())
        return Judgement(
            Understanding(**{name: _tuple(value) for name, value in understanding.items()}),
            self.links(note_id),
            tuple(Evolution(**{name: _tuple(data[name]) for name in data}) for data in evolutions),
        )


def outcome(
    status: str, reason: str = "", *, again: float | None = None, outage: bool = False, **done: int
) -> Outcome:
    """An outcome. done: how many `links` and `evolutions` there are."""
    counts = {"links": 0, "evolutions": 0, **done}
    return cast(
        "Outcome", {"status": status, "reason": reason, **counts, "again": again, "outage": outage}
    )


def content_digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def read_ref(note: Note) -> ReadRef:
    return ReadRef(id=note.id, version=note.version, digest=content_digest(note.content))


def proposal_json(proposal: Understanding | LinkProposal | Evolution) -> dict[str, Any]:
    """A proposal as the state keeps it."""
    return {
        name: [*cast("tuple[str, ...]", value)]
        if isinstance(value := getattr(proposal, name), tuple)
        else value
        for name in (each.name for each in fields(proposal))
    }


def _tuple(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value
