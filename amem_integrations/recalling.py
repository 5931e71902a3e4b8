"""The part of AgenticMemory that only reads, in both forms."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from amem_integrations import operations
from amem_integrations.finding import Asked, recall
from amem_integrations.lifecycle.belief import all_believed
from amem_integrations.models.reranking import RerankerSpec
from amem_integrations.namespace import DEFAULT, Namespace, as_namespace
from amem_integrations.note import Hit, Link, Note, Revision
from amem_integrations.operations import Forms, NamespaceLike, NoteLike, Rooms, address
from amem_integrations.ports import IO, run
from amem_integrations.recall.pack import Order, pack
from amem_integrations.recalls import Recall
from amem_integrations.store.reading import namespaces
from amem_integrations.weaving import turn_of


class Recalling(Forms):
    """Searching and reading notes."""

    def search(
        self,
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
        return run(recall(self._rooms, self._sync, query, min_relevance, reranker, **about))

    async def asearch(
        self,
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
        """`search`, awaited."""
        about = Asked(namespace=as_namespace(namespace), k=k, hops=hops, filter=filter, at=at)
        return await recall(self._rooms, self._async, query, min_relevance, reranker, **about)

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
        return self._rooms.recalls.last(as_namespace(namespace))

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

    def get(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note | None:
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
        return run(_read(self._rooms, self._sync, *address(note, namespace)))

    async def aget(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note | None:
        """`get`, awaited."""
        return await _read(self._rooms, self._async, *address(note, namespace))

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

    def turn(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> list[Note]:
        """The notes into which `weave` made the turn that this one is of, in their order.

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
            >>> [each.content for each in memory.turn(note)]
            ['Tea is served at four']
        """
        return run(turn_of(self._sync, note, namespace))

    async def aturn(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> list[Note]:
        """`turn`, awaited."""
        return await turn_of(self._async, note, namespace)

    def history(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> list[Revision]:
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
        return run(operations.history(self._sync, *address(note, namespace)))

    async def ahistory(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> list[Revision]:
        """`history`, awaited."""
        return await operations.history(self._async, *address(note, namespace))

    def recent(self, *, namespace: NamespaceLike = DEFAULT, limit: int = 20) -> list[Note]:
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
        return run(_recent(self._rooms, self._sync, as_namespace(namespace), limit))

    async def arecent(self, *, namespace: NamespaceLike = DEFAULT, limit: int = 20) -> list[Note]:
        """`recent`, awaited."""
        return await _recent(self._rooms, self._async, as_namespace(namespace), limit)

    def namespaces(self) -> list[Namespace]:
        """Every namespace that holds notes, in order.

        Raises:
            StoreError: the store cannot be read.

        Examples:
            >>> _ = memory.add("Prefers trains to planes", namespace=("org", "calvin"))
            >>> memory.namespaces()
            [('org', 'calvin')]
        """
        return run(namespaces(self._sync))

    async def anamespaces(self) -> list[Namespace]:
        """`namespaces`, awaited."""
        return await namespaces(self._async)

    def count(self, namespace: NamespaceLike | None = None) -> int:
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
        return sum(run(operations.counts(self._sync, namespace)).values())

    async def acount(self, namespace: NamespaceLike | None = None) -> int:
        """`count`, awaited."""
        return sum((await operations.counts(self._async, namespace)).values())


async def _read(rooms: Rooms, io: IO, note_id: str, namespace: Namespace) -> Note | None:
    note = await operations.read(io, note_id, namespace)
    if note is None or rooms.policy is None:
        return note
    return all_believed([note], io.now(), rooms.policy)[0]


async def _recent(rooms: Rooms, io: IO, namespace: Namespace, limit: int) -> list[Note]:
    notes = await operations.listed(io, namespace, limit)
    # To ask for the time moves the clock, and so the times of what is written next.
    return notes if rooms.policy is None else all_believed(notes, io.now(), rooms.policy)
