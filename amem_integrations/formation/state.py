"""The state of the formation graph, and what a formation is set to do.

The state is JSON-native: ids, versions and proposals. Content is re-read from the store by
each step, so that it does not end up in checkpoints; what a model proposed does.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypedDict

from amem_integrations.core.analysis import (
    Candidate,
    Evolution,
    Judgement,
    LinkProposal,
    Understanding,
)
from amem_integrations.core.io import Analyst
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
from amem_integrations.core.usage import Ledger
from amem_integrations.revisions.proposals import Believe

__all__ = ["FormationState", "Mode", "initial_state"]

Mode = Literal["fused", "staged", "batched"]
"""How often a model is asked about a note, see `AgenticMemory`."""


@dataclass(frozen=True)
class Settings:
    """How notes are formed.

    mode: "fused" makes one judgement a note, "staged" three (paper §3), "batched" one for
        up to `batch` notes.
    neighbours: how many candidates are offered, at most.
    link, evolve: switches for the two later steps (the paper's ablations).
    believe: how far a note is believed; what one proposes that is believed less than its target
        by more than the share `trust_gap` waits, instead of being applied. None: nobody looks
        after that; all is applied, and what is contradicted holds as before.
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
    def analyst_name(self) -> str:
        """The analyst and the mode, as revisions record them."""
        return self.judged_by(self.mode)

    def judged_by(self, mode: Mode) -> str:
        """`analyst_name`, for what was judged in another mode than the one that is set."""
        return f"{self.analyst.name}/{mode}"


class NoteRef(TypedDict):
    """A note as it was read: `version` is checked again when the formation is committed."""

    id: str
    version: int


class ReadRef(TypedDict):
    """A note in whose light another is judged, as it was then.

    version: one that evolved since is merged with, not overwritten. digest: of its content;
    what was judged in the light of other content is judged again.
    """

    id: str
    version: int
    digest: str


class CandidateRef(ReadRef):
    """A candidate as it was found."""

    similarity: float
    rank: int
    reverse_rank: int | None


class Outcome(TypedDict):
    """How it ended for one note.

    status: "formed"; "failed", with the reason kept on the note; "stale", to be judged again;
    "gone", "superseded" by another formation or an update; "rejected" in review.
    again: after a failure, seconds to wait at least before it is tried again; None when that
    cannot help. outage: whether other notes would fail as well.
    """

    status: str
    reason: str
    links: int
    evolutions: int
    again: float | None
    outage: bool


class FormationState(TypedDict, total=False):
    """The state of the formation graph; keys of the per-note mappings are note ids.

    Attributes:
        namespace: labels of the namespace that all notes are of.
        notes: what is to be formed, with the version that was read.
        candidates: for each note, the older ones that it may be linked to.
        batched: the notes that were judged in one question with others, each with every note that
            could be read there. A note that is missing was judged alone, by its candidates.
        understanding: what was understood of each.
        links: what was proposed for each.
        evolutions: likewise.
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


def initial_state(notes: Sequence[Note]) -> FormationState:
    """The input of the graph for raw notes of one namespace.

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


def namespace_of(state: FormationState) -> Namespace:
    return tuple(state.get("namespace", ()))


def open_ids(state: FormationState) -> list[str]:
    """The ids of the notes whose formation has not ended yet."""
    outcomes = state.get("outcomes", {})
    return [ref["id"] for ref in state.get("notes", ()) if ref["id"] not in outcomes]


def mode_of(settings: Settings, state: FormationState, note_id: str) -> Mode:
    """The mode in which a note was judged."""
    if settings.mode != "batched" or note_id in state.get("batched", {}):
        return settings.mode
    return "fused"


def read_with(state: FormationState, note_id: str) -> Sequence[ReadRef]:
    """The notes in whose light a note was judged."""
    batched = state.get("batched", {})
    return batched[note_id] if note_id in batched else state.get("candidates", {}).get(note_id, [])


def outcome(status: str, reason: str = "", links: int = 0, evolutions: int = 0) -> Outcome:
    return Outcome(
        status=status,
        reason=reason,
        links=links,
        evolutions=evolutions,
        again=None,
        outage=False,
    )


def failed(reason: str, *, again: float | None = 0.0, outage: bool = False) -> Outcome:
    return Outcome(
        status="failed", reason=reason, links=0, evolutions=0, again=again, outage=outage
    )


def content_digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def candidates_from(
    refs: Sequence[CandidateRef], notes: Mapping[str, Note]
) -> tuple[Candidate, ...]:
    """The candidates whose notes still exist."""
    return tuple(
        Candidate(notes[ref["id"]], ref["similarity"], ref["rank"], ref["reverse_rank"])
        for ref in refs
        if ref["id"] in notes
    )


def proposal_json(proposal: Understanding | LinkProposal | Evolution) -> dict[str, Any]:
    """A proposal as the state keeps it."""
    return {
        name: list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType]
        for name, value in asdict(proposal).items()
    }


def judgement_from(state: FormationState, note_id: str) -> Judgement:
    """What was proposed for one note."""
    return Judgement(
        understanding=understanding_from(state.get("understanding", {})[note_id]),
        links=links_from(state, note_id),
        evolutions=tuple(
            Evolution(**_with_tuples(data)) for data in state.get("evolutions", {}).get(note_id, ())
        ),
    )


def links_from(state: FormationState, note_id: str) -> tuple[LinkProposal, ...]:
    return tuple(LinkProposal(**data) for data in state.get("links", {}).get(note_id, ()))


def understanding_from(data: Mapping[str, Any]) -> Understanding:
    return Understanding(**_with_tuples(data))


def _with_tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
