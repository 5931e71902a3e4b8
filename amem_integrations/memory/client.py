"""AgenticMemory: the verbs a user says every day, with the operator's on `admin` and `lifecycle`.

Each verb is one operation over `io`; `sync_form` and `async_form` make its two methods. What is
about the memory as a whole, from opening to closing, is in `handle`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Link, Note, Revision
from amem_integrations.embedders.rerankers import RerankerSpec
from amem_integrations.formation.pipeline import Formation
from amem_integrations.lifecycle.confidence import all_believed
from amem_integrations.memory import operations, turns
from amem_integrations.memory.handle import MemoryHandle
from amem_integrations.memory.options import (
    NoteAddress,
    NoteFields,
)
from amem_integrations.memory.search import find
from amem_integrations.memory.turns import TurnResult
from amem_integrations.memory.wiring import NamespaceLike, NoteLike, Progress, address_of
from amem_integrations.recall import prompt
from amem_integrations.revisions.contradiction import Superseded
from amem_integrations.revisions.forget import Forgotten


class AgenticMemory(MemoryHandle):
    """A memory that takes notes, links them, lets them evolve, and finds them again.

    Every verb has a sync form and an async form with an `a` in front. Opening touches the disk or
    the server; on an event loop use `await aopen(...)`. In the examples `memory` is open and empty.

    A verb on one note takes the `Note` or its id, or its key as `key=`; see `NoteAddress`. Except
    for `get`, `links` and `forget`, it raises NoteNotFoundError if there is no such note.
    Every verb raises InvalidInputError for an invalid argument, before anything is changed;
    StoreError if the store cannot be read or written; StoreClosedError after `close`; and, where it
    embeds text, ModelError for unusable vectors. The embedder's own errors pass through.

    Args:
        location: a directory (embedded engine, one process at a time), the URL of a Qdrant server,
            an open `Store`, or None for a temporary directory.
        model: the LLM that forms notes: a LangChain chat model, a LlamaIndex LLM or
            "provider:model". None: term statistics and embeddings, without an LLM.
        analyst: an `Analyst` that replaces the built-in ones. It may call `model`.
        embedder: a fastembed model name, "multilingual", LangChain `Embeddings`, a LlamaIndex
            embedder, or a function from texts to vectors. None: all-MiniLM-L6-v2, as in the paper.
        collection: the name of the collection in that directory or on that server.
        formation: "inline" forms a note before `add` returns, "background" in threads, "off" not
            until `resume()` or a `MemoryWorker`. The raw note is stored and found in all cases.
        mode: "fused" asks the model once a note, "staged" three times (paper §3), "batched" once
            for several waiting notes, such as those of one `add_many`; "auto" as "batched", and
            where a small model fails at that, for keywords, tags and context alone.
        lifecycle: confidence, tiers, trust in sources and audits, an extension of the paper; a
            `Policy` has other numbers and may archive, False turns it off.
        api_key: the server's key.
        formation_options: more about how notes are formed.
        recall_options: how notes are found.
        server_options: how a server is reached.
        clock: a function that returns the current time, for tests.

    Raises:
        ModelUnavailableError: the model or embedder is unknown, not installed or has no key.
        StoreError: the directory is busy, damaged or written with another embedder; the server
            cannot be reached or refuses the key.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> with AgenticMemory("./memory") as memory:
        ...     note = memory.add("Calvin wants an LRU policy for the cache", namespace="calvin")
        ...     [hit] = memory.search("Which cache policy?", namespace="calvin")
        >>> hit.note.content
        'Calvin wants an LRU policy for the cache'
    """

    # -- writing -------------------------------------------------------------------------------

    @sync_form
    async def add(
        self,
        io: IO,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        supersedes: Superseded = (),
        **fields: Unpack[NoteFields],
    ) -> Note:
        """Store one note and form it.

        Without a `key`, the same content by the same speaker at the same place is the same note,
        so a retried call changes nothing. A key that exists with other content updates that note.

        Args:
            content: the text; it is kept as given.
            namespace: one label or several. Notes are found and linked within one namespace only.
            formation: "inline", "background" or "off"; None: as the memory was opened.
            supersedes: notes of the namespace, their ids or keys, that this one outdates. They are
                kept and found for earlier times.
            **fields: see `NoteFields`.

        Raises:
            NoteNotFoundError: a superseded note does not exist; nothing was stored.

        Examples:
            >>> first = memory.add("The release is on June 5", speaker="Ada")
            >>> second = memory.add("The release moved to June 20", speaker="Bea", supersedes=first)
            >>> memory.search("When is the release?")[0].note.content
            'The release moved to June 20'
            >>> memory.get(first).valid_until == second.created_at
            True
        """
        item = {"content": content, "supersedes": supersedes, **fields}
        [note] = self._believed(
            io, await operations.add(self._wiring, io, [item], namespace, formation)
        )
        return note

    @sync_form
    async def add_many(
        self,
        io: IO,
        items: Iterable[str | Mapping[str, Any]],
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        progress: Progress | None = None,
    ) -> list[Note]:
        """Store and form many notes, in order, and return one note an item.

        All items are checked before the first is written. Equal items become notes of their own.
        If storing fails halfway, repeating the call continues.

        Args:
            items: texts, or mappings with "content", "supersedes" and the keys of `NoteFields`.
            namespace: one label or several, for all items.
            formation: as for `add`.
            progress: called as progress(done, total) after each note.
        """
        notes = await operations.add(self._wiring, io, items, namespace, formation, progress)
        return self._believed(io, notes)

    @sync_form
    async def add_turn(
        self,
        io: IO,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        **fields: Unpack[NoteFields],
    ) -> TurnResult:
        """Store a turn of a conversation, one note an idea, and form what is new in it.

        A repetition and small talk ("ok, thanks") are stored and found, but not formed. A
        correction is linked to what it corrects. Statistics decide; when unsure an idea counts as
        new, or the model decides where formation is "inline". The same turn again changes nothing;
        other content under its `key` replaces the old. Arguments are those of `add`.

        Examples:
            >>> _ = memory.add_turn("The board meets on Monday at ten.", session="s1")
            >>> result = memory.add_turn("Actually it is Tuesday, not Monday.", session="s1")
            >>> [idea.kind for idea in result.ideas]
            ['correction']
        """
        item = {"content": content, **fields}
        result = await turns.add_turn(self._wiring, io, item, namespace, formation)
        pairs = zip(result.ideas, self._believed(io, result.notes), strict=True)
        return TurnResult(tuple(replace(idea, note=note) for idea, note in pairs))

    @sync_form
    async def update(
        self,
        io: IO,
        note: NoteLike | None = None,
        content: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        **address: Unpack[NoteAddress],
    ) -> Note:
        """Give a note new content or metadata, and undo what the old text had caused.

        Args:
            content: the new text, which is formed again; None keeps the old one.
            metadata: a JSON object that replaces the old one; None keeps the old one.

        Examples:
            >>> note = memory.add("The product page takes four seconds", key="speed")
            >>> memory.update(key="speed", content="The product page takes two seconds").content
            'The product page takes two seconds'
        """
        target = address_of(note, **address)
        note = await operations.update(self._wiring, io, *target, content, metadata)
        return self._believed(io, [note])[0]

    @sync_form
    async def forget(
        self,
        io: IO,
        note: NoteLike | None = None,
        *,
        duplicates: bool = False,
        **address: Unpack[NoteAddress],
    ) -> Forgotten:
        """Delete a note and everything it caused in other notes; nothing if it does not exist.

        Args:
            duplicates: also delete the notes that were merged with it, which say the same. They
                stay otherwise, and the result lists them.

        Examples:
            >>> note = memory.add("My phone number is 555 0199")
            >>> memory.forget(note).notes, memory.forget(note).notes
            (1, 0)
        """
        target = address_of(note, **address)
        return await operations.forget(self._wiring, io, *target, duplicates)

    @sync_form
    async def revert(
        self,
        io: IO,
        note: NoteLike | None = None,
        *,
        to_version: int | None = None,
        only: int | None = None,
        **address: Unpack[NoteAddress],
    ) -> Note:
        """Undo what you did last to a note; the undoing is a revision too, so revert() restores it.

        An update, a correction or a merge is undone whole, with the formation that followed and
        with what it changed in other notes. Old content is formed again, as `formation` says.
        What another note changed is undone alone, if that is newest. A note of which only the
        formation is undone becomes plain: `form()` forms it again.

        Args:
            to_version: undo every revision after this version.
            only: undo only the revision that produced this version; later ones stay.

        Raises:
            InvalidInputError: the version does not exist or cannot be undone alone.

        Examples:
            >>> note = memory.add("The product page takes four seconds")
            >>> changed = memory.update(note, "The product page takes two seconds")
            >>> memory.revert(changed).content
            'The product page takes four seconds'
        """
        target = address_of(note, **address)
        reverted = await operations.revert(self._wiring, io, *target, to_version, only)
        return self._believed(io, [reverted])[0]

    # -- forming -------------------------------------------------------------------------------

    @sync_form
    async def form(
        self, io: IO, note: NoteLike | None = None, **address: Unpack[NoteAddress]
    ) -> Note:
        """Form one note now, even if `add_turn` left it unformed or its formation was given up.

        A formed note stays as it is.
        """
        formed = await turns.form_note(self._wiring, io, *address_of(note, **address))
        return self._believed(io, [formed])[0]

    # -- recall --------------------------------------------------------------------------------

    @sync_form
    async def search(
        self,
        io: IO,
        query: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        k: int = 10,
        hops: int = 1,
        filter: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        min_relevance: float | None = None,
        reranker: RerankerSpec = None,
    ) -> list[Hit]:
        """Return the notes of exactly one namespace that answer `query`, best first.

        The search combines embeddings, BM25, speakers, dates, neighbouring turns and links. It
        calls no LLM. `Hit.why` holds the contribution of each signal.

        Args:
            query: the question, in words.
            namespace: one label or several.
            k: the maximum number of notes.
            hops: how many links to follow from what was found; linked notes compete for the places.
            filter: conditions on tags, keywords, session, speaker, times or metadata.
            at: recall as of this moment; a naive datetime counts as UTC. Its zone says which day is
                "yesterday".
            min_relevance: the least `hit.relevance` of a note, in [0, 1]; 0 drops nothing, 0.1 what
                hardly answers. None: as the memory was opened.
            reranker: as in `RecallOptions`; False for none. None: as the memory was opened.

        Raises:
            InvalidFilterError: the filter has an unknown operator or an operand of a wrong type.

        Examples:
            >>> _ = memory.add("Calvin wants an LRU policy for the cache", speaker="Calvin")
            >>> _ = memory.add("The office closes at six", speaker="Dana")
            >>> hit = memory.search("Which policy has the cache?", filter={"speaker": "Calvin"})[0]
            >>> hit.note.content
            'Calvin wants an LRU policy for the cache'
            >>> round(sum(hit.why.values()), 6) == round(hit.score, 6)
            True
        """
        return await find(
            self._wiring,
            io,
            query,
            namespace=as_namespace(namespace),
            k=k,
            hops=hops,
            filter=filter,
            at=at,
            min_relevance=min_relevance,
            reranker=reranker,
            backlinks=True,
        )

    pack = staticmethod(prompt.pack)
    """Return hits as one fenced block of data for a prompt; see `recall.prompt.pack`."""

    # -- reading -------------------------------------------------------------------------------

    @sync_form
    async def get(
        self, io: IO, note: NoteLike | None = None, **address: Unpack[NoteAddress]
    ) -> Note | None:
        """Return the note as it is now, with links of both directions, or None if it is gone.

        Examples:
            >>> note = memory.add("Tea is served at four", namespace="house")
            >>> memory.get(note) == note, memory.get(note.id)  # which is not in ("default",)
            (True, None)
        """
        return await self._read(io, *address_of(note, **address))

    async def _read(self, io: IO, note_id: str, namespace: Namespace) -> Note | None:
        note = await operations.read(io, note_id, namespace)
        return None if note is None else self._believed(io, [note])[0]

    def _believed(self, io: IO, notes: Sequence[Note]) -> list[Note]:
        policy = self._wiring.policy
        # Asking for the time moves the clock, and so the times of what is written next.
        return list(notes) if policy is None else all_believed(notes, io.now(), policy)

    @sync_form
    async def links(
        self, io: IO, note: NoteLike | None = None, **address: Unpack[NoteAddress]
    ) -> tuple[Link, ...]:
        """Return the links that a note made and those that other notes made to it.

        There are none for a note that does not exist.
        """
        found = await self._read(io, *address_of(note, **address))
        return found.links if found else ()

    @sync_form
    async def history(
        self, io: IO, note: NoteLike | None = None, **address: Unpack[NoteAddress]
    ) -> list[Revision]:
        """Return every revision of a note, oldest first."""
        return await operations.history(io, *address_of(note, **address))

    @sync_form
    async def get_turn(
        self, io: IO, note: NoteLike | None = None, **address: Unpack[NoteAddress]
    ) -> list[Note]:
        """Return all notes that `add_turn` made of the turn that a note belongs to, in order."""
        return self._believed(io, await turns.get_turn(io, *address_of(note, **address)))

    @sync_form
    async def recent(
        self, io: IO, *, namespace: NamespaceLike = DEFAULT, limit: int = 20
    ) -> list[Note]:
        """Return at most `limit` notes of a namespace, those stored last, newest first."""
        return self._believed(io, await operations.listed(io, as_namespace(namespace), limit))

    # -- the async forms -----------------------------------------------------------------------

    aadd = async_form(add)
    aadd_many = async_form(add_many)
    aadd_turn = async_form(add_turn)
    aupdate = async_form(update)
    aforget = async_form(forget)
    arevert = async_form(revert)
    aform = async_form(form)
    asearch = async_form(search)
    aget = async_form(get)
    alinks = async_form(links)
    ahistory = async_form(history)
    aget_turn = async_form(get_turn)
    arecent = async_form(recent)
