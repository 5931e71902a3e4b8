"""Note, Link, Revision, Hit: the immutable values that everything passes around.

What a value may hold is checked here, once, when it is made; nobody downstream checks again.
Nothing in this module reads or writes anything.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import accumulate
from typing import Any
from unicodedata import category

from amem_integrations import jsonvalue
from amem_integrations.errors import InvalidInputError
from amem_integrations.namespace import Namespace, as_namespace, encode
from amem_integrations.standing import NEW, Life, Tier, standing_json

MAX_CONTENT_BYTES = 16 * 1024 * 1024
MAX_KEYWORDS = 32
MAX_TAGS = 32
MAX_TERM_CHARS = 200
MAX_CONTEXT_CHARS = 4000

REPEATS, CORRECTS, CONTRADICTS = "repeats", "corrects", "contradicts"
DISTILS = "distils"
SOURCES = ("user", "tool", "assistant", "import")

_ID_ROOT = uuid.UUID("6f0e9a3e-5d0c-5b7e-9d55-0a6d656d6e6f")


class Status(StrEnum):
    """Where a note stands between being accepted and being understood.

    RAW waits to be formed, PLAIN is kept as it is: it can be found, and nothing forms it or links
    to it unless asked to (a turn that says nothing new). PARKED was given up for now.
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


@dataclass(frozen=True, slots=True)
class Link:
    """A directed connection that the note `source` made to the note `to`.

    kind: "related", "same-matter", "cause", "sequence", …; REPEATS or CORRECTS where a turn was
    woven, and those outlast a new formation; DISTILS to what a note says in short.
    weight in (0, 1].
    used_at: when its weight was last moved by a use of its notes; None if never.
    """

    source: str
    to: str
    reason: str
    created_at: datetime
    kind: str = "related"
    weight: float = 1.0
    used_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.source == self.to:
            raise InvalidInputError(f"Note {self.to} cannot be linked to itself.")
        if not 0.0 < self.weight <= 1.0:
            raise InvalidInputError(f"A link's weight lies in (0, 1]; got {self.weight}.")

    def other(self, note_id: str) -> str:
        """The id at the far end, seen from `note_id`."""
        return self.to if note_id == self.source else self.source


@dataclass(frozen=True, slots=True)
class Change:
    """One field of a note, before and after a revision (JSON-native values)."""

    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Revision:
    """One recorded change of a note.

    version: the version of the note that this revision produced.
    kind: "formed", "evolved", "updated", "retracted", "reverted", "repaired", or what became of
        a note as a whole, such as "archived" or "contested".
    cause: id of the note that brought it about; the note's own id when it was formed or
        when its caller updated it.
    sources: ids of the other notes whose text the judgement read. Forgetting one of them
        takes this revision back.
    """

    version: int
    kind: str
    cause: str
    at: datetime
    analyst: str
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change], hash=False)
    sources: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One memory: the text as given, and what was understood of it (paper §3.1).

    `links` holds both directions once a note was read through the memory: those it made
    (`link.source == note.id`) and those others made to it. `metadata` and `value` are the
    caller's and come back exactly as JSON has them (a tuple comes back as a list).
    All times are aware UTC; a naive one is taken as UTC. `updated_at` is when the caller last
    changed the note; revisions say when a model did.
    parts: lengths of the texts that `content` joins, a line break between two. Each of them
        is embedded by itself, and nothing else is; with no texts, the content is empty and
        the note is not found by a query. None: content and understanding are embedded.
    source_id, position: of a note that holds one of several ideas of a turn: the key of that turn,
        which all of them share, and the character of the turn at which its content begins.
    ttl: how long it is kept after it was last written or read; `expires_at`: until when.
    source: what kind of source it came from, one of SOURCES; None if nobody said.
    tier, life: how well it is established, and what happened to it (`standing`).
    valid_until: when what it says ceased to hold, because another note says otherwise.
    contested_by: ids of the notes that contradict it, as long as nobody settled it.
    merged_into: id of the note that says the same and took its place.
    trust: what the least believed of those had who changed how it is understood, in [0, 1].
    confidence: how far it is to be believed now, in [0, 1]; 1 where nothing looks after that.
    """

    id: str
    namespace: Namespace
    key: str
    content: str
    created_at: datetime
    updated_at: datetime
    keywords: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""
    links: tuple[Link, ...] = ()
    speaker: str | None = None
    session: str | None = None
    sequence: int | None = None
    source_id: str | None = None
    position: int | None = None
    occurred_at: datetime | None = None
    metadata_json: str = "{}"
    value_json: str | None = None
    parts: tuple[int, ...] | None = None
    ttl: timedelta | None = None
    expires_at: datetime | None = None
    status: Status = Status.RAW
    attempts: int = 0
    last_error: str | None = None
    revision: Revision | None = None
    confidence: float = 1.0
    version: int = 1
    source: str | None = None
    tier: Tier = Tier.SHORT
    valid_until: datetime | None = None
    contested_by: tuple[str, ...] = ()
    merged_into: str | None = None
    trust: float = 1.0
    life: Life = NEW

    def __post_init__(self) -> None:
        if self.parts != ():
            check_content(self.content)

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The texts that are embedded one by one, if `parts` says so."""
        if self.parts is None:
            return None
        ends = accumulate(length + 1 for length in self.parts)
        return tuple(
            self.content[end - length - 1 : end - 1]
            for end, length in zip(ends, self.parts, strict=True)
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's metadata: a fresh copy each time."""
        return jsonvalue.loads(self.metadata_json)

    @property
    def value(self) -> Any:
        """What a key-value `put` stored, or None: a fresh copy each time."""
        return None if self.value_json is None else jsonvalue.loads(self.value_json)

    @property
    def standing(self) -> dict[str, Any]:
        """The fields that `standing.FIELDS` names, as JSON has them."""
        return standing_json(
            self.tier, self.valid_until, self.contested_by, self.merged_into, self.trust
        )

    @property
    def outgoing(self) -> tuple[Link, ...]:
        """The links this note made itself."""
        return tuple(link for link in self.links if link.source == self.id)

    @property
    def incoming(self) -> tuple[Link, ...]:
        """The links other notes made to this one."""
        return tuple(link for link in self.links if link.source != self.id)

    def evolve(self, **changes: Any) -> "Note":
        """A copy with some fields replaced; refuses a status that TRANSITIONS does not allow."""
        status = changes.get("status", self.status)
        if status not in TRANSITIONS[self.status] and status != self.status:
            raise InvalidInputError(f"A {self.status} note cannot become {status} ({self.id}).")
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Hit:
    """A note found by a search, with its score and why it was found.

    score: fused relevance, higher is better, comparable within one search only.
    why: contribution by signal ("dense", "sparse", "link", …), which sum to the score. Where a
        reranker had the last word, the score is `why["rerank"]`, and the rest led up to it.
    via: the link that led here or lifted the note; set whenever `why` has "link".
    relevance: how much it has to do with the question, comparable across searches with the same
        embedder; measured where a search has a `min_relevance`, else None.
    """

    note: Note
    score: float
    why: Mapping[str, float] = field(hash=False)
    via: Link | None = None
    relevance: float | None = None

    def __str__(self) -> str:
        signals = ", ".join(f"{name} {value:.2f}" for name, value in self.why.items())
        return f"{self.score:.3f}  {self.note.content}  [{signals}]"


def note_id(namespace: Namespace, key: str) -> str:
    """The id of the note kept under `key`: UUIDv5 of (namespace, key)."""
    return str(uuid.uuid5(_ID_ROOT, encode((*namespace, key))))


def make_note(
    content: str,
    *,
    namespace: str | Sequence[str],
    now: datetime,
    key: str | None = None,
    speaker: str | None = None,
    session: str | None = None,
    sequence: int | None = None,
    occurred_at: datetime | None = None,
    source: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    value: Any = None,
    repetition: int = 0,
) -> Note:
    """A raw note from what a caller gives, checked.

    Without a `key`, one is derived from content, speaker, session, sequence and
    occurred_at, so that a retried write is the same note. `repetition` tells apart equal
    items of one batch. Raises InvalidInputError.
    """
    labels = as_namespace(namespace)
    check_content(content)
    for name, text in (("key", key), ("speaker", speaker), ("session", session)):
        if text is not None:
            check_text(name, text)
    if sequence is not None:
        _check_sequence(sequence)
    if source not in (None, *SOURCES):
        wanted = ", ".join(map(repr, SOURCES))
        raise InvalidInputError(f"source is one of {wanted}, or None; got {source!r}.")
    moment = as_utc(now)
    occurred = None if occurred_at is None else as_utc(occurred_at)
    if key is None:
        key = _derived_key(content, speaker, session, sequence, occurred, repetition)
    return Note(
        id=note_id(labels, key),
        namespace=labels,
        key=key,
        content=content,
        created_at=moment,
        updated_at=moment,
        speaker=speaker,
        session=session,
        sequence=sequence,
        occurred_at=occurred,
        source=source,
        metadata_json="{}" if metadata is None else metadata_text(metadata),
        value_json=None if value is None else jsonvalue.dumps("value", value),
    )


def _derived_key(*parts: object) -> str:
    texts = [None if part is None else str(part) for part in parts]
    text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    return "auto:" + uuid.uuid5(_ID_ROOT, text).hex


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """`metadata` as it is stored. Raises InvalidInputError for what cannot be."""
    if not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"metadata must be a mapping; got {type(metadata).__name__}.")
    return jsonvalue.dumps("metadata", dict(metadata))


def check_content(content: object) -> None:
    """Raise InvalidInputError unless `content` is text that can be stored as given."""
    check_text("content", content, limit=MAX_CONTENT_BYTES)


def check_text(name: str, text: object, limit: int = 4096) -> None:
    """Raise InvalidInputError unless `text` can be stored as given; limit: bytes."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be text; got {type(text).__name__}.")
    if is_blank(text):
        raise InvalidInputError(f"{name} is empty or blank; there is nothing to remember.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} holds a lone surrogate at position {error.start}, which is not valid "
            "Unicode. Clean it, for example with text.encode('utf-8', 'replace').decode()."
        ) from error
    if size > limit:
        raise InvalidInputError(f"{name} has {size} bytes; at most {limit} can be stored.")


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: nothing but space, control and format characters."""
    return all(each.isspace() or category(each) in ("Cc", "Cf") for each in text)


def _check_sequence(sequence: object) -> None:
    if not isinstance(sequence, int) or isinstance(sequence, bool):
        raise InvalidInputError(f"sequence must be an int; got {type(sequence).__name__}.")
    if not -(2**63) <= sequence < 2**63:
        raise InvalidInputError("sequence must fit a signed integer of 64 bits.")


def as_utc(moment: datetime) -> datetime:
    """`moment` as aware UTC; a naive datetime is taken as UTC."""
    if not isinstance(moment, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"Expected a datetime; got {type(moment).__name__}.")
    try:
        naive = moment.utcoffset() is None
        return moment.replace(tzinfo=UTC) if naive else moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(f"{moment} has no equivalent in UTC.") from error


def clean_terms(terms: Iterable[object], limit: int) -> tuple[str, ...]:
    """Keywords or tags as they may be stored: stripped, non-empty, unique, bounded.

    Order is kept and case is not folded; a repetition that differs only in case is dropped.
    """
    kept: dict[str, str] = {}
    for term in terms:
        if len(kept) >= limit:
            break
        text = clean_text(term, MAX_TERM_CHARS) if isinstance(term, str) else ""
        if text:
            kept.setdefault(text.casefold(), text)
    return tuple(kept.values())


def clean_text(text: str, limit: int) -> str:
    """`text` on one line, without what cannot be stored, cut to `limit` characters.

    "" when there is nothing to see in it.
    """
    safe = text.encode("utf-8", "ignore").decode().replace("\x00", "")
    line = " ".join(safe.split())[:limit].strip()
    return "" if is_blank(line) else line
