"""A search as one memory is set to do it: its `min_relevance`, its reranker, its `diversity`.

`recalling` gives it its two forms; adapters that recall within an operation call `find`.
"""

import time
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Required, TypedDict, Unpack

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Hit, as_utc
from amem_integrations.embedders.rerankers import RerankerSpec
from amem_integrations.lifecycle.confidence import backlinks_believed, believed, source_trust
from amem_integrations.memory.operations import Wiring
from amem_integrations.recall.last import Recall
from amem_integrations.recall.rerank import reranking_by
from amem_integrations.recall.search import search
from amem_integrations.stores.read import with_links


class Asked(TypedDict, total=False):
    """What of a search's arguments is the same in every form of it; see `search`."""

    namespace: Required[Namespace]
    k: int
    hops: int
    filter: Mapping[str, Any] | None
    at: datetime | None


async def find(
    wiring: Wiring,
    io: IO,
    query: str,
    *,
    min_relevance: float | None = None,
    reranker: RerankerSpec = None,
    **asked: Unpack[Asked],
) -> list[Hit]:
    """`search`, as this memory is set to do it.

    min_relevance, reranker: in place of the memory's own, where they are not None.
    """
    finding = _found(wiring, io, query, min_relevance, reranker, **asked)
    return await _kept(wiring, query, asked["namespace"], finding)


async def recall(
    wiring: Wiring,
    io: IO,
    query: str,
    min_relevance: float | None,
    reranker: RerankerSpec,
    **asked: Unpack[Asked],
) -> list[Hit]:
    """What `find` finds, with the links of both directions on each note."""
    finding = _linked(wiring, io, _found(wiring, io, query, min_relevance, reranker, **asked))
    return await _kept(wiring, query, asked["namespace"], finding)


async def _kept(
    wiring: Wiring, query: str, namespace: Namespace, finding: Coroutine[Any, Any, list[Hit]]
) -> list[Hit]:
    """What is found, which is the last recall of its namespace from now on."""
    drops, began = wiring.recalls.drops, time.perf_counter()
    try:
        hits = await finding
    except Exception:
        wiring.recalls.failed(namespace)
        raise
    seconds = time.perf_counter() - began
    found = Recall(query, namespace, tuple(hits), seconds)
    wiring.recalls.keep(found, wiring.settings.ledger, drops)
    return hits


async def _found(
    wiring: Wiring,
    io: IO,
    query: str,
    min_relevance: float | None,
    reranker: RerankerSpec,
    **asked: Unpack[Asked],
) -> list[Hit]:
    options, reranking = wiring.recall, wiring.reranking
    if min_relevance is not None:
        options = replace(options, min_relevance=min_relevance)
    if reranker is not None:
        reranking = reranking_by(reranker, wiring.settings.ledger.count)
    believe, sources, policy = None, None, wiring.policy
    if policy is not None:
        options = replace(options, path=policy.path, drop=policy.drop)
        at = asked.get("at")
        believe = partial(believed, now=io.now() if at is None else as_utc(at), policy=policy)
        sources = partial(source_trust, policy=policy)
    return await search(
        io,
        query,
        **asked,
        options=options,
        reranking=reranking,
        believe=believe,
        sources=sources,
    )


async def _linked(wiring: Wiring, io: IO, finding: Coroutine[Any, Any, list[Hit]]) -> list[Hit]:
    hits = await finding
    notes = await with_links(io, [hit.note for hit in hits])
    if wiring.policy is not None:
        notes = [backlinks_believed(note, io.now(), wiring.policy) for note in notes]
    return [replace(hit, note=note) for hit, note in zip(hits, notes, strict=True)]
