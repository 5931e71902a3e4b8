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

        hops: how many links to follow from what was found; linked notes compete for the
        places. filter: conditions on tags, keywords, session, speaker, times, metadata.
        at: recall as of that moment.
        min_relevance: nothing is found unless one of the notes has so much to do with the
            question (`hit.relevance`; the README says how to choose it); 0 drops nothing.
        reranker: who orders the best notes, as for the memory itself; False for nobody.
            Both are as the memory was opened with where they are None.
        Raises InvalidInputError, StoreError, ModelError.
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

        Notes are whole; those that fit are chosen best first. count_tokens: the tokenizer of the
        model that reads it, otherwise an estimate. order: how they are shown, "relevance" or
        "time", which serves what was said in turns and changed since.
        """
        return pack(hits, token_budget, count_tokens=count_tokens, order=order)

    def get(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note | None:
        """The note as it is now, with the links of both directions; None if it is not there."""
        return run(_read(self._rooms, self._sync, *address(note, namespace)))

    async def aget(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> Note | None:
        """`get`, awaited."""
        return await _read(self._rooms, self._async, *address(note, namespace))

    def links(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> tuple[Link, ...]:
        """The links of a note, those it made and those made to it."""
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

        A note that holds a whole turn comes alone. Raises NoteNotFoundError.
        """
        return run(turn_of(self._sync, note, namespace))

    async def aturn(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> list[Note]:
        """`turn`, awaited."""
        return await turn_of(self._async, note, namespace)

    def history(self, note: NoteLike, *, namespace: NamespaceLike | None = None) -> list[Revision]:
        """Every revision of a note, oldest first. Raises NoteNotFoundError."""
        return run(operations.history(self._sync, *address(note, namespace)))

    async def ahistory(
        self, note: NoteLike, *, namespace: NamespaceLike | None = None
    ) -> list[Revision]:
        """`history`, awaited."""
        return await operations.history(self._async, *address(note, namespace))

    def recent(self, *, namespace: NamespaceLike = DEFAULT, limit: int = 20) -> list[Note]:
        """The notes stored last, newest first."""
        return run(_recent(self._rooms, self._sync, as_namespace(namespace), limit))

    async def arecent(self, *, namespace: NamespaceLike = DEFAULT, limit: int = 20) -> list[Note]:
        """`recent`, awaited."""
        return await _recent(self._rooms, self._async, as_namespace(namespace), limit)

    def namespaces(self) -> list[Namespace]:
        """Every namespace that holds notes, in order."""
        return run(namespaces(self._sync))

    async def anamespaces(self) -> list[Namespace]:
        """`namespaces`, awaited."""
        return await namespaces(self._async)

    def count(self, namespace: NamespaceLike | None = None) -> int:
        """How many notes there are, in one namespace or in all."""
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
