"""Note, Link, Revision: the immutable values that everything passes around.

What a value may hold is checked once, when it is made; nobody downstream checks again. Field
names and annotations are all that `stores.codec` knows of how these values are written.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Annotated, Any, TypeAlias

from amem_integrations.core import json_value
from amem_integrations.core.namespace import Namespace, as_namespace, encode
from amem_integrations.core.status import (
    MOST_LINKS,
    NEW,
    SOURCES,
    TRANSITIONS,
    Bounds,
    Count,
    JsonText,
    Length,
    Life,
    Mark,
    NoteId,
    OwnId,
    Share,
    Tier,
)
from amem_integrations.core.status import Status as Status
from amem_integrations.core.values import (
    MAX_CONTENT_BYTES,
    MAX_TERM_CHARS,
    brief,
    check_sequence,
    on_clock,
)
from amem_integrations.core.values import as_aware as as_aware
from amem_integrations.core.values import as_utc as as_utc
from amem_integrations.core.values import check_content as check_content
from amem_integrations.core.values import check_text as check_text
from amem_integrations.core.values import clean_terms as clean_terms
from amem_integrations.core.values import clean_text as clean_text
from amem_integrations.errors import InvalidInputError

MAX_KEYWORDS = 32
MAX_TAGS = 32
MAX_CONTEXT_CHARS = 4000
MAX_PARTS = 1000
MAX_QUESTIONS = 8

REPEATS, CORRECTS, CONTRADICTS = "repeats", "corrects", "contradicts"
DISTILS, REFERS = "distils", "refers"
OPPOSING = (CORRECTS, CONTRADICTS)
"""The kinds of links whose source says otherwise than their target."""
LASTING = (REPEATS, *OPPOSING, DISTILS, REFERS)
"""The kinds of links that say how two notes stand to each other, which does not wear off."""

Term: TypeAlias = Annotated[str, Length(MAX_TERM_CHARS)]
LongText: TypeAlias = Annotated[str, Bounds(0, 64 * 1024)]
Version: TypeAlias = Annotated[int, Bounds(1, 2**53)]

NOT_UNDERSTOOD: Mapping[str, Any] = {"keywords": (), "tags": (), "context": "", "questions": ()}
"""The fields that an analyst writes, as of a note that none has read."""

_ID_ROOT = uuid.UUID("6f0e9a3e-5d0c-5b7e-9d55-0a6d656d6e6f")


@dataclass(frozen=True, slots=True)
class Link:
    """A directed connection from the note `source` to another note.

    Attributes:
        source: id of the note that made the link.
        to: id of the note that it leads to.
        reason: why, in words.
        created_at: when it was made.
        kind: "related", "same-matter", "cause", "sequence", …; "repeats" or "corrects" from a
            turn, which outlast a new formation; "distils" to the notes that a note sums up;
            "refers" where the text names the other note.
        weight: its strength, in (0, 1].
        used_at: when a use of its notes last moved its weight; None if never.

    Raises:
        InvalidInputError: it would lead to its own note, or the weight is out of range.

    Examples:
        >>> first = memory.add("A cache would fix the slow product page", session="s1")
        >>> [link] = memory.add("Then a cache for the product page", session="s1").links
        >>> link.to == first.id, 0 < link.weight <= 1
        (True, True)
    """

    source: OwnId
    to: NoteId
    reason: LongText
    created_at: datetime
    kind: str = "related"
    weight: Share = 1.0
    used_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.source == self.to:
            raise InvalidInputError(f"Note {self.to} cannot be linked to itself.")
        if not 0.0 < self.weight <= 1.0:
            raise InvalidInputError(f"A link's weight lies in (0, 1]; got {self.weight}.")

    def other(self, note_id: str) -> str:
        """Return the id at the other end than `note_id`."""
        return self.to if note_id == self.source else self.source


@dataclass(frozen=True, slots=True)
class Change:
    """One field of a note, before and after a revision (JSON-native values).

    Attributes:
        before: the old value.
        after: the new value.
    """

    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Revision:
    """One recorded change of a note.

    Attributes:
        version: the version of the note that this revision produced.
        kind: "formed", "evolved", "updated", "retracted", "reverted", "repaired", or a change of
            the whole note, such as "archived" or "contested".
        cause: id of the note that caused it; the note's own id if it was formed or updated.
        at: when.
        analyst: the name and mode of the analyst that proposed it.
        changes: what changed, by field.
        sources: ids of the other notes whose text the analyst read. Forgetting one of them takes
            this revision back.
        reason: why, in words.

    Examples:
        >>> note = memory.add("Tea is served at four")
        >>> [formed] = memory.history(note)
        >>> formed.version, formed.kind, formed.cause == note.id, formed.analyst
        (2, 'formed', True, 'llm-free/fused')
    """

    version: Version
    kind: str
    cause: NoteId
    at: datetime
    analyst: str
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change], hash=False)
    sources: Annotated[tuple[NoteId, ...], Length(MOST_LINKS)] = ()
    reason: LongText = ""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Note:
    """One memory: the text as given, and what was understood of it (paper §3.1).

    All times are aware UTC; a naive one is taken as UTC.

    Attributes:
        id: made of the namespace and the key; the same in every store.
        namespace: whose note it is.
        key: the caller's name for it, or one made of content, speaker, session, place and time.
        content: the text as given; no model changes it.
        created_at: when it was stored.
        updated_at: when the caller last changed it; revisions say when a model did.
        keywords: the most salient first.
        tags: categories.
        context: one sentence that says it so that it can be understood alone.
        questions: what somebody may ask that it answers.
        links: those it made (`link.source == note.id`); read through the memory, also those that
            other notes made to it.
        speaker: who said it.
        session: the conversation it was said in.
        sequence: its position in the session, as given or counted when it was stored.
        source_id: the key of the turn that the note is a part of; None for a whole turn.
        position: the character of the turn at which its content begins.
        occurred_at: when it happened.
        utc_offset: minutes by which `occurred_at` was given ahead of UTC; None for UTC.
        metadata_json: `metadata` as JSON.
        value_json: `value` as JSON; None without a value.
        parts: lengths of the texts that `content` joins by line breaks. Each is embedded by itself,
            and nothing else is; without texts no query finds the note. None: content and
            understanding are embedded.
        ttl: how long it is kept after it was last written or read.
        expires_at: when it expires. After that nothing finds it, and sweeping removes it.
        refresh_on_read: whether being recalled starts `ttl` anew; None: yes.
        status: see `Status`.
        attempts: how many formations failed.
        last_error: why the last one failed.
        revision: its newest change.
        confidence: how far it is believed now, in [0, 1]; 1 without a lifecycle.
        version: 1, and one more with each change.
        source: the kind of its source: "user", "assistant", "tool", "import", "web" or None.
        tier: how well it is established.
        valid_until: since when it is outdated, because another note says otherwise.
        contested_by: ids of the notes that contradict it, while that is unresolved.
        merged_into: id of the note that took its place in a merge.
        trust: the least trust in those who changed how it is understood, in [0, 1].
        life: counts of what happened to it.

    Examples:
        >>> note = memory.add("Calvin wants an LRU policy for the cache", metadata={"ticket": 12})
        >>> note.content, note.metadata, note.namespace
        ('Calvin wants an LRU policy for the cache', {'ticket': 12}, ('default',))
    """

    id: OwnId
    namespace: Annotated[Namespace, Mark.NAMESPACE]
    key: str
    content: Annotated[str, Bounds(0, MAX_CONTENT_BYTES)]
    created_at: datetime
    updated_at: datetime = field(repr=False)
    keywords: Annotated[tuple[Term, ...], Length(MAX_KEYWORDS)] = ()
    tags: Annotated[tuple[Term, ...], Length(MAX_TAGS)] = ()
    context: Annotated[str, Length(MAX_CONTEXT_CHARS)] = ""
    questions: Annotated[tuple[Term, ...], Length(MAX_QUESTIONS)] = ()
    links: Annotated[tuple[Link, ...], Length(MOST_LINKS)] = ()
    speaker: str | None = None
    session: str | None = None
    sequence: Annotated[int, Bounds(-(2**63), 2**63)] | None = None
    source_id: str | None = None
    position: Count | None = None
    occurred_at: datetime | None = None
    utc_offset: Annotated[int, Bounds(-1439, 1440)] | None = None
    metadata_json: JsonText = "{}"
    value_json: JsonText | None = None
    parts: Annotated[tuple[Annotated[int, Bounds(1, 2**53)], ...], Length(MAX_PARTS)] | None = None
    ttl: timedelta | None = None
    expires_at: datetime | None = None
    refresh_on_read: bool | None = None
    status: Status = Status.RAW
    attempts: Count = 0
    last_error: str | None = None
    revision: Revision | None = field(default=None, repr=False)
    confidence: Share = field(default=1.0, compare=False)
    version: Version = 1
    source: Annotated[str, SOURCES] | None = None
    tier: Tier = Tier.SHORT
    valid_until: datetime | None = None
    contested_by: Annotated[tuple[NoteId, ...], Length(MOST_LINKS)] = ()
    merged_into: NoteId | None = None
    trust: Share = 1.0
    life: Life = field(default=NEW, repr=False)

    def __repr__(self) -> str:
        return brief(self)

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
    def local_time(self) -> datetime:
        """When it happened, on the clock that was given; else when it was stored, in UTC."""
        return on_clock(self.occurred_at or self.created_at, self.utc_offset)

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's metadata: a fresh copy each time."""
        return json_value.loads(self.metadata_json)

    @property
    def value(self) -> Any:
        """What a key-value `put` stored, or None: a fresh copy each time."""
        return None if self.value_json is None else json_value.loads(self.value_json)

    @property
    def outgoing(self) -> tuple[Link, ...]:
        """The links this note made itself."""
        return tuple(link for link in self.links if link.source == self.id)

    @property
    def incoming(self) -> tuple[Link, ...]:
        """The links other notes made to this one."""
        return tuple(link for link in self.links if link.source != self.id)

    def evolve(self, **changes: Any) -> "Note":
        """Return a copy with some fields replaced; what is stored stays as it is.

        Raises:
            InvalidInputError: the new status cannot follow the old one.
        """
        status = changes.get("status", self.status)
        if status not in TRANSITIONS[self.status] and status != self.status:
            raise InvalidInputError(f"A {self.status} note cannot become {status} ({self.id}).")
        return replace(self, **changes)


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
        check_sequence(sequence)
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
        utc_offset=None if occurred_at is None else _utc_offset(occurred_at),
        source=source,
        metadata_json="{}" if metadata is None else metadata_text(metadata),
        value_json=None if value is None else json_value.dumps("value", value),
    )


def _utc_offset(moment: datetime) -> int | None:
    """The offset of a time in minutes; None where it is none, or the time says none."""
    offset = moment.utcoffset()
    return None if not offset else round(offset / timedelta(minutes=1)) or None


def _derived_key(*parts: object) -> str:
    texts = [None if part is None else str(part) for part in parts]
    text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    return "auto:" + uuid.uuid5(_ID_ROOT, text).hex


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """`metadata` as it is stored. Raises InvalidInputError for what cannot be."""
    if not isinstance(metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"metadata must be a mapping; got {type(metadata).__name__}.")
    return json_value.dumps("metadata", dict(metadata))
