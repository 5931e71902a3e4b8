"""AgenticMemory: the verbs a user says every day, with the operator's on `admin` and `lifecycle`.

Each verb is one operation over `io`; `sync_form` and `async_form` make its two methods.
"""

import asyncio
import os
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from amem_integrations.core.io import IO, Analyst, async_form, sync_form
from amem_integrations.core.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.core.note import Hit, Link, Note, Revision, as_utc
from amem_integrations.core.usage import UsageReport
from amem_integrations.embedders.rerankers import RerankerSpec
from amem_integrations.formation.state import Mode
from amem_integrations.lifecycle.belief import all_believed
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.memory import operations, turns
from amem_integrations.memory import pipeline as forming
from amem_integrations.memory.admin import Admin
from amem_integrations.memory.build import Assembly
from amem_integrations.memory.lifecycle import Lifecycle
from amem_integrations.memory.operations import (
    MemoryPart,
    NamespaceLike,
    NoteLike,
    Progress,
    address,
)
from amem_integrations.memory.options import FormationOptions, Options, ServerOptions
from amem_integrations.memory.pipeline import Formation, Wiring
from amem_integrations.memory.search import Asked, recall
from amem_integrations.memory.turns import TurnResult, form_note
from amem_integrations.recall.last import Recall
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.prompt import Order, pack
from amem_integrations.revisions.forget import Forgotten
from amem_integrations.revisions.supersede import Superseded
from amem_integrations.stores.read import namespaces
from amem_integrations.stores.usage import read_usage, save_usage

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from amem_integrations.formation.state import FormationState

T = TypeVar("T")


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


class AgenticMemory(MemoryPart):
    """A memory that takes notes, links them, lets them evolve, and finds them again.

    Opening touches the disk or the server; on an event loop use `await aopen(...)`. Every operation
    has a sync form and an async one, with an `a` in front. In the examples of its methods `memory`
    is one that is open, and empty.

    Args:
        location: a directory (the embedded engine, one process at a time), the URL of a Qdrant
            server, or None for a temporary directory that goes with the object.
        model: the LLM that forms notes: a LangChain chat model, a LlamaIndex LLM, "provider:model",
            or None for term statistics and embeddings only.
        analyst: forms notes in place of the built-in ones: a `ports.Analyst`. It may call `model`.
        embedder: a fastembed model name, "multilingual", LangChain `Embeddings`, a LlamaIndex
            embedder, a function from texts to vectors, or None for all-MiniLM-L6-v2, as in the
            paper.
        collection: the name of what holds the notes in that directory or on that server.
        formation: "inline" forms a note before `add` returns, "background" in threads, "off" leaves
            it raw until `resume()` or a `MemoryWorker`. A raw note is stored and can be found.
        mode: "fused" asks the model once a note, "staged" three times (paper §3), "batched" once
            for several notes that wait together, as those of one `add_many` do.
        lifecycle: confidence, tiers, trust in sources and archiving, by a `Policy` (True: the
            default one); an extension of the paper. False: none of it, unless a method is called.
        api_key: of the server.
        formation_options: how notes are formed: `FormationOptions`.
        recall_options: how notes are found: `RecallOptions`.
        server_options: how a server is reached: `ServerOptions`.
        clock: where "now" comes from, for tests.

    Raises:
        InvalidInputError: an argument cannot be used.
        ModelUnavailableError: the model or embedder is not known, not installed or has no key.
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

    def __init__(
        self,
        location: str | os.PathLike[str] | None = None,
        *,
        model: Any = None,
        analyst: Analyst | None = None,
        embedder: Any = None,
        collection: str = "amem",
        formation: Formation = "inline",
        mode: Mode = "fused",
        lifecycle: bool | Policy = False,
        api_key: str | None = None,
        formation_options: FormationOptions | None = None,
        recall_options: RecallOptions | None = None,
        server_options: ServerOptions | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.options = Options(
            location=location,
            model=model,
            analyst=analyst,
            embedder=embedder,
            collection=collection,
            formation=formation,
            mode=mode,
            lifecycle=lifecycle,
            api_key=api_key,
            clock=clock,
            formation_options=formation_options or FormationOptions(),
            recall_options=recall_options or DEFAULT_OPTIONS,
            server_options=server_options or ServerOptions(),
        )
        """The arguments it was opened with, for whoever opens the same memory elsewhere."""
        self._assembly = assembly = Assembly(self.options)
        parts = assembly.wiring, assembly.sync, assembly.asynchronous
        super().__init__(*parts)
        self.admin = Admin(*parts)
        """Check, repair, health, export and import, deletion in bulk."""
        self.lifecycle = Lifecycle(*parts)
        """Feedback, maintenance, audits, proposals, archiving, consolidation."""
        # Runs once: at close(), when the object is collected, or at interpreter exit.
        self._finalizer = weakref.finalize(self, assembly.close)
        if formation == "background":
            assembly.wake()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {self._assembly.store.location}>"

    @classmethod
    async def aopen(cls, *args: Any, **kwargs: Any) -> Self:
        """`AgenticMemory(...)`, without blocking the running event loop.

        Args:
            *args: as for the class.
            **kwargs: as for the class.

        Raises:
            AMemError: as the class does.

        Examples:
            >>> import asyncio
            >>> async def main():
            ...     async with await AgenticMemory.aopen("./memory") as memory:
            ...         await memory.aadd("Bea takes her tea without sugar")
            ...         return await memory.asearch("tea")
            >>> from amem_integrations import AgenticMemory
            >>> print(asyncio.run(main())[0].note.content)
            Bea takes her tea without sugar
        """

        def opened() -> Self:
            memory = cls(*args, **kwargs)
            if memory.options.formation == "inline":
                # Its libraries take a second to load: not the loop's, at the first `aadd`.
                _ = memory._assembly.own_graph
            return memory

        return await asyncio.to_thread(opened)

    @sync_form
    async def add(
        self,
        io: IO,
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
        [note] = await operations.add(self._wiring, io, [item], namespace, formation)
        return note

    aadd = async_form(add)

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
        return await operations.add(self._wiring, io, items, namespace, formation, progress)

    aadd_many = async_form(add_many)

    @sync_form
    async def add_turn(
        self,
        io: IO,
        content: str,
        *,
        namespace: NamespaceLike = DEFAULT,
        formation: Formation | None = None,
        **about: Unpack[About],
    ) -> TurnResult:
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
            >>> _ = memory.add_turn("The board meets on Monday at ten.", session="s1")
            >>> [idea.kind for idea in memory.add_turn("ok, thanks", session="s1").ideas]
            ['nothing']
            >>> result = memory.add_turn("Actually it is Tuesday, not Monday.", session="s1")
            >>> [idea.kind for idea in result.ideas]
            ['correction']
        """
        item = {"content": content, **about}
        return await turns.add_turn(self._wiring, io, item, namespace, formation)

    aadd_turn = async_form(add_turn)

    @sync_form
    async def update(
        self,
        io: IO,
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
        return await operations.update(self._wiring, io, note, namespace, content, metadata)

    aupdate = async_form(update)

    @sync_form
    async def forget(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Forgotten:
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
        return await operations.forget(self._wiring, io, note, namespace)

    aforget = async_form(forget)

    @sync_form
    async def revert(
        self,
        io: IO,
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
        return await operations.revert(self._wiring, io, note, namespace, to_version, only)

    arevert = async_form(revert)

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
        """The notes of one namespace that answer `query`, best first, at most `k`.

        Hybrid search: embeddings, BM25, and who said what when; no LLM is called, except by a
        reranker. The guide to recalling has the signals, `Hit.why` what each of them contributed.

        Args:
            query: what to look for, in words.
            namespace: one label or several; exactly this one is searched.
            k: how many notes, at most.
            hops: how many links to follow from what was found; linked notes compete for the places.
            filter: conditions on tags, keywords, session, speaker, times, metadata.
            at: recall as of that moment; a naive datetime is taken as UTC.
            min_relevance: nothing is found unless one of the notes has so much to do with the
                question (`hit.relevance`; the guide says how to choose it); 0 drops nothing. None:
                as the memory was opened.
            reranker: who orders the best notes, as for the memory itself; False for nobody. None:
                as the memory was opened.

        Raises:
            InvalidInputError: the query is blank, or another value cannot be used.
            InvalidFilterError: the filter has an unknown operator, or an operand of the wrong type.
            StoreError: the store cannot be read.
            ModelError: the embedder gives no usable vectors; its own errors pass through.

        Examples:
            >>> _ = memory.add("Calvin wants an LRU policy for the cache", speaker="Calvin")
            >>> _ = memory.add("The office closes at six", speaker="Dana")
            >>> hit = memory.search("Which policy has the cache?", filter={"speaker": "Calvin"})[0]
            >>> hit.note.content
            'Calvin wants an LRU policy for the cache'
            >>> round(sum(hit.why.values()), 6) == round(hit.score, 6)
            True
        """
        about = Asked(namespace=as_namespace(namespace), k=k, hops=hops, filter=filter, at=at)
        return await recall(self._wiring, io, query, min_relevance, reranker, **about)

    asearch = async_form(search)

    def last_recall(self, namespace: NamespaceLike = DEFAULT) -> Recall | None:
        """What the last search of a namespace found, and what forming notes took since.

        Whoever searched: this object, an adapter, a tool of an agent, in any thread or task. What
        one namespace recalled is never seen from another. It is kept in the process, for some 100
        namespaces, and let go of when something of the namespace is forgotten.

        Args:
            namespace: whose memory.

        Returns:
            The last recall, as text one line of numbers; None if there was none, or it failed,
            or is not kept any more.

        Raises:
            InvalidInputError: for labels that make no namespace.

        Examples:
            >>> _ = memory.add("The boat is called Susie")
            >>> hits = memory.search("What is the boat called?")
            >>> recall = memory.last_recall()
            >>> recall.query, [hit.note.content for hit in recall.hits]
            ('What is the boat called?', ['The boat is called Susie'])
            >>> print(recall)
            recalled 1 note in ... ms
        """
        return self._wiring.recalls.last(as_namespace(namespace))

    @staticmethod
    def pack(
        hits: Sequence[Hit],
        token_budget: int,
        *,
        count_tokens: Callable[[str], int] | None = None,
        order: Order = "relevance",
    ) -> str:
        """Hits as one fenced block of data for a prompt, within `token_budget` tokens.

        Notes are whole; those that fit are chosen best first.

        Args:
            hits: what a search found, best first.
            token_budget: tokens that the block may have, at most.
            count_tokens: the tokenizer of the model that reads it, otherwise an estimate.
            order: how they are shown, "relevance" or "time", which serves what was said in turns
                and changed since.

        Returns:
            The block, or "" if no note fits.

        Raises:
            InvalidInputError: there is no such order.

        Examples:
            >>> from datetime import datetime
            >>> _ = memory.add("Tea is served at four", occurred_at=datetime(2026, 3, 2, 9))
            >>> print(memory.pack(memory.search("When is tea?"), token_budget=200))
            Notes from memory, most relevant first, one JSON object a line. ...
            ```jsonl
            {"time": "2026-03-02T09:00Z", "content": "Tea is served at four", ...}
            ```
        """
        return pack(hits, token_budget, count_tokens=count_tokens, order=order)

    @sync_form
    async def get(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> Note | None:
        """The note as it is now, with the links of both directions; None if it is not there.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Raises:
            InvalidInputError: this can be no note.
            StoreError: the store cannot be read.

        Examples:
            >>> note = memory.add("Tea is served at four", namespace="house")
            >>> memory.get(note).content
            'Tea is served at four'
            >>> memory.get(note.id) is None  # in the default namespace there is none
            True
        """
        return await _read(self._wiring, io, *address(note, namespace))

    aget = async_form(get)

    def links(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> tuple[Link, ...]:
        """The links of a note, those it made and those made to it.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            Its links; none for a note that is not there.

        Raises:
            InvalidInputError: this can be no note.
            StoreError: the store cannot be read.

        Examples:
            >>> first = memory.add("A cache would fix the slow product page", session="s1")
            >>> second = memory.add("Then a cache for the product page", session="s1")
            >>> [link.to == first.id for link in memory.links(second)]
            [True]
            >>> memory.links(first) == memory.links(second)
            True
        """
        found = self.get(note, namespace=namespace)
        return found.links if found is not None else ()

    async def alinks(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> tuple[Link, ...]:
        """`links`, awaited."""
        found = await self.aget(note, namespace=namespace)
        return found.links if found is not None else ()

    @sync_form
    async def get_turn(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> list[Note]:
        """Return the notes that `add_turn` made of the turn that this note belongs to, in order.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            The notes; one that holds a whole turn comes alone.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: the store cannot be read.

        Examples:
            >>> note = memory.add("Tea is served at four")
            >>> [each.content for each in memory.get_turn(note)]
            ['Tea is served at four']
        """
        return await turns.get_turn(io, note, namespace)

    aget_turn = async_form(get_turn)

    @sync_form
    async def history(
        self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> list[Revision]:
        """Every revision of a note, oldest first.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: the store cannot be read.

        Examples:
            >>> note = memory.add("The product page takes four seconds")
            >>> _ = memory.update(note, "The product page takes two seconds")
            >>> [each.kind for each in memory.history(note)]
            ['formed', 'updated', 'formed']
        """
        return await operations.history(io, *address(note, namespace))

    ahistory = async_form(history)

    @sync_form
    async def recent(
        self, io: IO, *, namespace: NamespaceLike = DEFAULT, limit: int = 20
    ) -> list[Note]:
        """The notes stored last, newest first.

        Args:
            namespace: one label or several.
            limit: how many, at most.

        Raises:
            InvalidInputError: a value cannot be used.
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add_many(["Tea at four", "Coffee at five"])
            >>> [note.content for note in memory.recent(limit=1)]
            ['Coffee at five']
        """
        wiring = self._wiring
        namespace = as_namespace(namespace)
        notes = await operations.listed(io, namespace, limit)
        # To ask for the time moves the clock, and so the times of what is written next.
        return notes if wiring.policy is None else all_believed(notes, io.now(), wiring.policy)

    arecent = async_form(recent)

    @sync_form
    async def namespaces(self, io: IO) -> list[Namespace]:
        """Every namespace that holds notes, in order.

        Raises:
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Prefers trains to planes", namespace=("org", "calvin"))
            >>> memory.namespaces()
            [('org', 'calvin')]
        """
        return await namespaces(io)

    anamespaces = async_form(namespaces)

    @sync_form
    async def count(self, io: IO, namespace: NamespaceLike | None = None) -> int:
        """How many notes there are, in one namespace or in all.

        Args:
            namespace: one label or several; None for all.

        Raises:
            InvalidInputError: this can be no namespace.
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Prefers trains to planes", namespace=("org", "calvin"))
            >>> memory.count(), memory.count("org")
            (1, 0)
        """
        return sum((await operations.counts(io, namespace)).values())

    acount = async_form(count)

    @sync_form
    async def resume(self, io: IO) -> int:
        """Form every note that is still raw, oldest first; returns how many were formed.

        Each is tried once, also those that failed and would wait; those that another worker is at
        are left to it.

        Raises:
            StoreError: the store cannot be read or written.

        Examples:
            >>> note = memory.add("Formed when asked to", formation="off")
            >>> memory.resume()
            1
            >>> str(memory.get(note).status)
            'formed'
        """
        return await forming.resume(self._wiring, io)

    aresume = async_form(resume)

    @sync_form
    async def form(self, io: IO, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note:
        """Form one note now, though it was kept plain by `add_turn`, or given up.

        Args:
            note: the note, or its id.
            namespace: where an id is looked up.

        Returns:
            The note as it is now; one that was formed before stays as it is.

        Raises:
            NoteNotFoundError: there is no such note in the namespace.
            InvalidInputError: this can be no note.
            StoreError: it could not be written.

        Examples:
            >>> [note] = memory.add_turn("ok, thanks", session="s1").notes
            >>> str(note.status), str(memory.form(note).status)
            ('plain', 'formed')
        """
        return await form_note(self._wiring, io, note, namespace)

    aform = async_form(form)

    @sync_form
    async def usage(
        self, io: IO, namespace: NamespaceLike | None = None, since: datetime | None = None
    ) -> UsageReport:
        """What model calls took, by step, by mode and in total, whichever process made them.

        Other processes tell of their calls by and by, when they are flushed and closed at the
        latest.

        Args:
            namespace: of exactly this one, otherwise of all.
            since: from the beginning of the UTC hour in which it lies; a naive datetime is taken as
                UTC.

        Raises:
            InvalidInputError: a value cannot be used.
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Tea at four")  # formed by statistics
            >>> memory.usage().total.calls
            0
        """
        return await self._usage(io, namespace, since)

    ausage = async_form(usage)

    async def _usage(
        self, io: IO, namespace: NamespaceLike | None, since: datetime | None
    ) -> UsageReport:
        return await read_usage(
            io,
            self._wiring.settings.ledger,
            None if namespace is None else as_namespace(namespace),
            None if since is None else as_utc(since),
        )

    @sync_form
    async def perform(self, io: IO, operation: Callable[[Wiring, IO], Coroutine[Any, Any, T]]) -> T:
        """Run an operation over what this memory works with; for adapters.

        Args:
            operation: called with the memory's parts and its `ports.IO`, to give a coroutine that
                awaits nothing but that.

        Returns:
            What the coroutine returns.

        Raises:
            AMemError: whatever the operation raises.

        Examples:
            >>> from amem_integrations.stores.read import namespaces
            >>> memory.perform(lambda wiring, io: namespaces(io))
            []
        """
        return await operation(self._wiring, io)

    aperform = async_form(perform)

    @sync_form
    async def flush(self, io: IO, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - it is no deadline of the call
        """Wait for background formation, then write everything to disk.

        Args:
            timeout: seconds to wait, at most; None for as long as it takes.

        Returns:
            False when notes were still waiting after that time.

        Raises:
            StoreError: the store cannot be written.

        Examples:
            >>> note = memory.add("Found at once, formed in a thread", formation="background")
            >>> memory.flush(timeout=30)
            True
            >>> str(memory.get(note).status)
            'formed'
        """
        done = await io.run_blocking(partial(self._assembly.wait, timeout))
        await save_usage(io, self._wiring.settings.ledger)
        await io.engine.flush()
        return done

    aflush = async_form(flush)

    def graph(
        self, *, review: bool = False, checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None
    ) -> "CompiledStateGraph[FormationState, None, FormationState, FormationState]":
        """The formation graph, to draw, stream, checkpoint, or put into a graph of your own.

        Its input is `formation.state.initial_state(notes)` for raw notes of one namespace.

        Args:
            review: stop at an `interrupt` before the commit.
            checkpointer: LangGraph's, for a graph that is run by itself.

        Returns:
            A compiled LangGraph graph; run in any way, it commits to this memory.

        Raises:
            StoreError: when it is run and the store cannot be read or written. What a model fails
                at is no error: it is kept with the note.

        Examples:
            >>> from amem_integrations.formation.state import initial_state
            >>> raw = memory.add("The gateway keeps readings for 90 days", formation="off")
            >>> steps = memory.graph().stream(initial_state([raw]))
            >>> [name for step in steps for name in step]
            ['accept', 'candidates', 'judge', 'commit']
        """
        return self._assembly.graph(review=review, checkpointer=checkpointer)

    @property
    def closed(self) -> bool:
        """Whether it was closed.

        Examples:
            >>> memory.closed
            False
        """
        return not self._finalizer.alive

    def close(self) -> None:
        """Finish the note at hand, write everything to disk, release the store.

        It can be repeated. Whatever is asked of the memory afterwards raises StoreClosedError.

        Examples:
            >>> memory.close()
            >>> memory.closed
            True
        """
        self._finalizer()

    async def aclose(self) -> None:
        """`close`, awaited."""
        if self._finalizer.detach() is not None:
            await self._assembly.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


async def _read(wiring: Wiring, io: IO, note_id: str, namespace: Namespace) -> Note | None:
    note = await operations.read(io, note_id, namespace)
    if note is None or wiring.policy is None:
        return note
    return all_believed([note], io.now(), wiring.policy)[0]
