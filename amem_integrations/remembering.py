"""The part of AgenticMemory that changes what is stored, in both forms."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack

from amem_integrations import operations
from amem_integrations.forming import Formation
from amem_integrations.lifecycle.conflicts import Superseded
from amem_integrations.lifecycle.forget import Forgotten
from amem_integrations.namespace import DEFAULT
from amem_integrations.note import Note
from amem_integrations.operations import Forms, NamespaceLike, NoteLike, Progress
from amem_integrations.ports import run
from amem_integrations.weaving import Woven, weave_turn


class About(TypedDict, total=False):
    """What may be said about a memory beside its content.

    key: the caller's own name for it; the same key is the same note.
    speaker, session, sequence: who said it, in which conversation, at which place.
    occurred_at: when it happened; a naive datetime is taken as UTC.
    source: what kind of source it is from: "user", "tool", "assistant" or "import"; with
        `lifecycle` it says how far the note is believed. Left out, who speaks does.
    metadata: any JSON object, returned exactly and usable in filters.
    """

    key: str | None
    speaker: str | None
    session: str | None
    sequence: int | None
    occurred_at: datetime | None
    source: str | None
    metadata: Mapping[str, Any] | None


class Remembering(Forms):
    """Adding, changing and forgetting notes."""

    def add(
        self,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        supersedes: Superseded | None = None,
        **about: Unpack[About],
    ) -> Note:
        """Remember `content` and return its note, links included.

        The same content with the same speaker, session, sequence and time is the same note,
        so a call can be repeated; give `sequence`, `occurred_at` or a `key` to keep a
        repetition apart. A `key` that exists with other content is updated. When a model
        fails the note is stored all the same, raw, with `last_error`.
        supersedes: notes of the namespace (or their ids or keys) that hold no longer from when
            this one happened. They are kept, and found for earlier times.
        Raises InvalidInputError, NoteNotFoundError and StoreError.
        """
        item = {"content": content, "supersedes": supersedes, **about}
        return run(operations.add(self._rooms, self._sync, [item], namespace, formation))[0]

    async def aadd(
        self,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        supersedes: Superseded | None = None,
        **about: Unpack[About],
    ) -> Note:
        """`add`, awaited."""
        item = {"content": content, "supersedes": supersedes, **about}
        return (await operations.add(self._rooms, self._async, [item], namespace, formation))[0]

    def add_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        progress: Progress | None = None,
    ) -> list[Note]:
        """Remember texts, or mappings with "content" and whatever `add` takes, in order.

        All items are checked before the first is written; equal ones are kept apart.
        progress: called as progress(done, total) after each note.
        """
        return run(operations.add(self._rooms, self._sync, items, namespace, formation, progress))

    async def aadd_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        progress: Progress | None = None,
    ) -> list[Note]:
        """`add_many`, awaited."""
        return await operations.add(self._rooms, self._async, items, namespace, formation, progress)

    def weave(
        self,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        **about: Unpack[About],
    ) -> Woven:
        """Remember what is new in a turn of a conversation, idea by idea; instead of `add`.

        What repeats an older note and what says nothing ("ok, thanks") is stored and found,
        yet not formed; a correction is linked to what it corrects; several ideas become several
        notes. Statistics decide, and in doubt it is new. With formation="inline" a model is asked
        where they are in doubt. The same turn again changes nothing; other content under its
        `key` takes the place of the old. Raises InvalidInputError and StoreError.
        """
        item = {"content": content, **about}
        return run(weave_turn(self._rooms, self._sync, item, namespace, formation))

    async def aweave(
        self,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        **about: Unpack[About],
    ) -> Woven:
        """`weave`, awaited."""
        item = {"content": content, **about}
        return await weave_turn(self._rooms, self._async, item, namespace, formation)

    def update(
        self,
        note: NoteLike,
        content: str | None = None,
        *,
        namespace: NamespaceLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Note:
        """Give a note new content or metadata; what the old text had caused is taken back.

        Raises NoteNotFoundError, InvalidInputError, StoreError.
        """
        return run(operations.update(self._rooms, self._sync, note, namespace, content, metadata))

    async def aupdate(
        self,
        note: NoteLike,
        content: str | None = None,
        *,
        namespace: NamespaceLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Note:
        """`update`, awaited."""
        return await operations.update(self._rooms, self._async, note, namespace, content, metadata)

    def forget(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Forgotten:
        """Remove a note and everything it caused in others; one that is gone counts as 0."""
        return run(operations.forget(self._rooms, self._sync, note, namespace))

    async def aforget(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Forgotten:
        """`forget`, awaited."""
        return await operations.forget(self._rooms, self._async, note, namespace)

    def revert(
        self,
        note: NoteLike,
        *,
        to_version: int | None = None,
        only: int | None = None,
        namespace: NamespaceLike | None = None,
    ) -> Note:
        """Undo a note's last revision, or all after `to_version`; the undoing is one itself.

        only: undo that one alone which made the note this version; later ones stay.
        A note whose forming is undone is parked: `retry()` forms it again.
        """
        return run(operations.revert(self._rooms, self._sync, note, namespace, to_version, only))

    async def arevert(
        self,
        note: NoteLike,
        *,
        to_version: int | None = None,
        only: int | None = None,
        namespace: NamespaceLike | None = None,
    ) -> Note:
        """`revert`, awaited."""
        return await operations.revert(self._rooms, self._async, note, namespace, to_version, only)
