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
    """What may be said about a memory beside its content, as keywords or as keys of an item.

    Attributes:
        key: the caller's own name for it; the same key is the same note.
        speaker: who said it.
        session: in which conversation.
        sequence: at which place of it.
        occurred_at: when it happened; a naive datetime is taken as UTC.
        source: what kind of source it is from: "user", "tool", "assistant" or "import"; with
            `lifecycle` it says how far the note is believed. Left out, who speaks does.
        metadata: any JSON object, returned exactly and usable in filters.

    Examples:
        >>> about = {"speaker": "Ada", "session": "standup", "sequence": 1}
        >>> memory.add("The product page takes four seconds", **about).speaker
        'Ada'
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

        The same content with the same speaker, session, sequence and time is the same note, so a
        call can be repeated; give `sequence`, `occurred_at` or a `key` to keep a repetition apart.
        A `key` that exists with other content is updated. When a model fails the note is stored all
        the same, raw, with `last_error`.

        Args:
            content: the text, which is kept as it is.
            namespace: one label or several; a note is found, linked and evolved within exactly one.
            formation: "inline", "background" or "off", in place of the memory's own.
            supersedes: notes of the namespace (or their ids or keys) that hold no longer from when
                this one happened. They are kept, and found for earlier times.
            **about: what else is known of it, see `About`: key, speaker, session, sequence,
                occurred_at, source, metadata.

        Raises:
            InvalidInputError: a value cannot be used; nothing was stored.
            NoteNotFoundError: what it supersedes is not there; nothing was stored.
            StoreError: it could not be stored.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> first = memory.add("The release is on June 5", speaker="Ada")
            >>> second = memory.add("The release moved to June 20", speaker="Bea", supersedes=first)
            >>> memory.search("When is the release?")[0].note.content
            'The release moved to June 20'
            >>> memory.get(first).valid_until == second.created_at
            True
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

        Args:
            items: texts, or mappings with "content", "supersedes" and what `About` has.
            namespace: one label or several, for all of them.
            formation: "inline", "background" or "off", in place of the memory's own.
            progress: called as progress(done, total) after each note.

        Returns:
            A note for each item, in the same order.

        Raises:
            InvalidInputError: an item cannot be used; nothing was stored.
            NoteNotFoundError: what an item supersedes is not there; nothing was stored.
            StoreError: not all of them could be stored; repeating the call goes on.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> turns = [
            ...     {"content": "The product page takes four seconds.", "speaker": "Ada"},
            ...     {"content": "A cache would fix the product page.", "speaker": "Bea"},
            ... ]
            >>> notes = memory.add_many(turns, namespace="shop")
            >>> [note.speaker for note in notes]
            ['Ada', 'Bea']
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

        What repeats an older note and what says nothing ("ok, thanks") is stored and found, yet not
        formed; a correction is linked to what it corrects; several ideas become several notes.
        Statistics decide, and in doubt it is new. With formation="inline" a model is asked where
        they are in doubt. The same turn again changes nothing; other content under its `key` takes
        the place of the old.

        Args:
            content: the turn, whole.
            namespace: one label or several.
            formation: "inline", "background" or "off", in place of the memory's own.
            **about: what else is known of the turn, see `About`.

        Returns:
            The ideas of the turn, each with its note and what it was found to be.

        Raises:
            InvalidInputError: a value cannot be used; nothing was stored.
            StoreError: it could not be stored.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> _ = memory.weave("The board meets on Monday at ten.", session="s1")
            >>> [idea.kind for idea in memory.weave("ok, thanks", session="s1").ideas]
            ['nothing']
            >>> woven = memory.weave("Actually it is Tuesday, not Monday.", session="s1")
            >>> [idea.kind for idea in woven.ideas]
            ['correction']
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

        Args:
            note: the note, or its id.
            content: the new text, which is formed anew; None leaves it as it is.
            namespace: where an id is looked up.
            metadata: a JSON object in place of the old one; None leaves it as it is.

        Returns:
            The note as it is now.

        Raises:
            InvalidInputError: a value cannot be used; nothing was changed.
            NoteNotFoundError: there is no such note in the namespace.
            StoreError: it could not be written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> note = memory.add("The product page takes four seconds")
            >>> memory.update(note, "The product page takes two seconds").content
            'The product page takes two seconds'
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
        """Remove a note and everything it caused in others; one that is gone counts as 0.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            How much was removed, and what has to be formed anew without it.

        Raises:
            InvalidInputError: this can be no note.
            StoreError: it could not be removed.

        Examples:
            >>> note = memory.add("My phone number is 555 0199")
            >>> memory.forget(note).notes
            1
            >>> memory.forget(note).notes
            0
        """
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

        A note whose forming is undone is parked: `retry()` forms it again.

        Args:
            note: the note, or its id.
            to_version: the number of the version to go back to.
            only: undo that one revision alone which made the note this version; later ones stay.
            namespace: where an id is looked up.

        Returns:
            The note as it is now.

        Raises:
            InvalidInputError: there is no such version, or it cannot be undone alone.
            NoteNotFoundError: there is no such note in the namespace.
            StoreError: it could not be written.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> note = memory.add("The product page takes four seconds")
            >>> changed = memory.update(note, "The product page takes two seconds")
            >>> memory.revert(changed, to_version=note.version).content
            'The product page takes four seconds'
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
