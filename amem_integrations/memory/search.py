"""A search with the settings of one memory: its options, its reranker and its lifecycle."""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Required, TypedDict, Unpack

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import as_utc
from amem_integrations.embedders.rerankers import RerankerSpec
from amem_integrations.errors import StoreError, loggable
from amem_integrations.lifecycle.confidence import backlinks_believed, believed, source_trust
from amem_integrations.memory.wiring import Wiring
from amem_integrations.recall.last import Recall
from amem_integrations.recall.rerank import reranking_by
from amem_integrations.recall.search import search
from amem_integrations.revisions.forget import renew
from amem_integrations.stores.read import with_links

_LOG = logging.getLogger(__name__)


class SearchArguments(TypedDict, total=False):
    """The arguments that are passed on to `recall.search.search`."""

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
    backlinks: bool = False,
    page: slice = slice(None),
    **arguments: Unpack[SearchArguments],
) -> list[Hit]:
    """Search with the settings of this memory, and keep the result as its last recall.

    Being found starts the time of a note with a TTL anew, unless it is set not to.
    min_relevance, reranker: replace the memory's own if they are not None.
    backlinks: whether each note also has the links that other notes made to it.
    page: which of the hits are returned.
    """
    namespace = arguments["namespace"]
    drops, began = io.caches.drops, time.perf_counter()
    try:
        hits = (await _found(wiring, io, query, min_relevance, reranker, arguments))[page]
        hits = await _renewed(wiring, io, hits)
        if backlinks:
            hits = await _with_backlinks(wiring, io, hits)
    except Exception:
        wiring.recalls.failed(namespace)
        raise
    found = Recall(query, namespace, tuple(hits), time.perf_counter() - began)
    wiring.recalls.keep(found, wiring.settings.ledger, io.caches, drops)
    return hits


async def _found(
    wiring: Wiring,
    io: IO,
    query: str,
    min_relevance: float | None,
    reranker: RerankerSpec,
    arguments: SearchArguments,
) -> list[Hit]:
    options, reranking = wiring.recall, wiring.reranking
    if min_relevance is not None:
        options = replace(options, min_relevance=min_relevance)
    if reranker is not None:
        reranking = reranking_by(reranker, wiring.settings.ledger.count)
    believe, sources, policy = None, None, wiring.policy
    if policy is not None:
        options = replace(
            options,
            min_path_confidence=policy.min_path_confidence,
            drop_weak_paths=policy.drop_weak_paths,
        )
        at = arguments.get("at")
        believe = partial(believed, now=io.now() if at is None else as_utc(at), policy=policy)
        sources = partial(source_trust, policy=policy)
    return await search(
        io,
        query,
        **arguments,
        options=options,
        reranking=reranking,
        believe=believe,
        sources=sources,
    )


async def _renewed(wiring: Wiring, io: IO, hits: list[Hit]) -> list[Hit]:
    """Start the time of the hits anew where that is wanted; return them with it."""
    try:
        renewed = await renew(io, (h.note for h in hits if h.note.refresh_on_read is not False))
    except StoreError as error:
        # Where nothing can be written, recall still answers.
        wiring.settings.ledger.count("recall.not_renewed")
        _LOG.warning("What was recalled keeps its time to live (%s).", loggable(error))
        return hits
    return [
        replace(hit, note=replace(hit.note, expires_at=renewed[hit.note.id]))
        if hit.note.id in renewed
        else hit
        for hit in hits
    ]


async def _with_backlinks(wiring: Wiring, io: IO, hits: list[Hit]) -> list[Hit]:
    notes = await with_links(io, [hit.note for hit in hits])
    if wiring.policy is not None:
        notes = [backlinks_believed(note, io.now(), wiring.policy) for note in notes]
    return [replace(hit, note=note) for hit, note in zip(hits, notes, strict=True)]
