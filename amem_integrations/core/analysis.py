"""What an analyst is asked, and what it proposes.

A judgement is a proposal: `formation` decides what of it is applied. Nothing here knows
about models or stores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from amem_integrations.core.note import Note, Status

__all__ = [
    "Candidate",
    "Distilled",
    "Evolution",
    "IdeaProposal",
    "Judgement",
    "LinkProposal",
    "Subject",
    "Turn",
    "Understanding",
]


@dataclass(frozen=True, slots=True)
class Understanding:
    """What a note is about (paper Ps1).

    Attributes:
        keywords: 3–5 of them, most salient first.
        tags: two or more.
        context: one sentence that can be understood alone.
        questions: up to two that the note answers.
    """

    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    context: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """An older note that the subject may be linked to.

    Attributes:
        note: the older note.
        similarity: cosine between the two notes' embeddings, in [-1, 1].
        rank: place among the subject's nearest notes, 0 the nearest.
        reverse_rank: place of the subject among the candidate's nearest, None when not nearby.
    """

    note: Note
    similarity: float
    rank: int
    reverse_rank: int | None = None

    @property
    def is_context(self) -> bool:
        """Whether it is a skipped turn, shown so that the subject is understood: not to link to."""
        return self.note.status is Status.SKIPPED


@dataclass(frozen=True, slots=True)
class Subject:
    """The note being judged, with the notes that put it in perspective.

    Attributes:
        note: the note being judged.
        candidates: older notes that it may be linked to, the nearest first.
        background: recent notes of the same namespace, newest first; for term statistics and
            conversation order. The subject itself is not among them.
    """

    note: Note
    candidates: tuple[Candidate, ...] = ()
    background: tuple[Note, ...] = ()


BY_STATISTICS = "llm-free"
"""The name of the analyst that asks no model; what it writes of a note are the note's own words."""

KINDS_SEEN = ("shared-words", "near", "sequence")
"""What connects two notes, where statistics can see it, and so can a search by itself."""


@dataclass(frozen=True, slots=True)
class LinkProposal:
    """Link the subject to the candidate `to`, and why (paper Ps2).

    Attributes:
        to: the candidate's id.
        reason: why, in words.
        kind: what connects them. "shared-words", "near" and "sequence" say no more than the texts'
            words and order do.
        weight: how strongly, in (0, 1].
    """

    to: str
    reason: str
    kind: str = "related"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Evolution:
    """How the candidate `note_id` should be understood from now on (paper Ps3).

    Attributes:
        note_id: the candidate's id.
        keywords: all that it has from now on; None: as they are.
        tags: likewise.
        context: likewise.
        reason: why, in words.
        questions: as keywords.
    """

    note_id: str
    keywords: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    context: str | None = None
    reason: str = ""
    questions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Everything proposed for one subject.

    Attributes:
        understanding: what it is about.
        links: where it leads.
        evolutions: what it changes in others.
    """

    understanding: Understanding
    links: tuple[LinkProposal, ...] = ()
    evolutions: tuple[Evolution, ...] = ()


@dataclass(frozen=True, slots=True)
class Distilled:
    """What several notes come to: the text of a new note, and what it is about.

    Attributes:
        text: the new note's content.
        understanding: what it is about.
    """

    text: str
    understanding: Understanding


TurnKind = Literal["new", "repetition", "correction", "nothing"]
"""What an idea of a turn is, held against what was known before."""

TURN_KINDS: tuple[TurnKind, ...] = get_args(TurnKind)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a conversation, in sentences, with what it is held against.

    Attributes:
        note: the turn, whole.
        sentences: its sentences, in order.
        candidates: older notes near to any of them.
        before: the turn that it follows.
    """

    note: Note
    sentences: tuple[str, ...]
    candidates: tuple[Candidate, ...] = ()
    before: Note | None = None


@dataclass(frozen=True, slots=True)
class IdeaProposal:
    """One idea of a turn: the sentences from `first` up to the next idea's.

    Attributes:
        first: its first sentence, counted from 0.
        kind: "new", "repetition", "correction" or "nothing".
        of: the id of the candidate that it repeats or corrects.
    """

    first: int
    kind: TurnKind
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message: role is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a chat model whose answer must fit a JSON schema.

    step: "construct", "link", "evolve", "fuse", "batch", "segment" or "distil"; for counting and
        tracing.
    again: whether it has been put before, and failed or brought nothing that could be read.
    """

    step: str
    messages: Sequence[Message]
    schema: dict[str, object]
    again: bool = False


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What came back. `data` is the parsed JSON object, or None when there was none.

    tokens_in and tokens_out are as the model reported them; None when it did not. model: what
    the provider calls itself, such as a name with a date.
    """

    text: str
    data: dict[str, object] | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())
    model: str | None = None
