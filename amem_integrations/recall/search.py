"""Search: a question in, the notes that answer it out, each with why it was found.

`question` reads whose words it asks for and of when; what is left becomes a vector and terms; one
batch asks the engine for the lists; `signals` and `rank` make one ranking of them; the best notes
are read, and what their texts tell is added; `expand` follows their links; `distinct` folds those
that say the same, when `trust` and `standing` have put back what is hardly believed or holds no
longer. `rerank` and `relevance` come last, where they are asked for.
No model is called on this path, unless a reranker is given. `memory` calls `search`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Hit, Note, as_utc
from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.dedupe import Same, distinct, diverse
from amem_integrations.recall.fusion import Ranked
from amem_integrations.recall.links import expand, place, weighed
from amem_integrations.recall.lists import listed, ranked
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.query import read_question
from amem_integrations.recall.relevance import relevant
from amem_integrations.recall.rerank import Reranking, rerank
from amem_integrations.recall.scope import Believe, Scope, scope_of
from amem_integrations.recall.signals import answered, told
from amem_integrations.recall.trust import Sources, trusted
from amem_integrations.recall.validity import standing
from amem_integrations.stores.codec import within

# A query longer than this is embedded by its beginning; all of its words are still matched.
MAX_EMBEDDED_CHARS = 4000

# How long the lists are; `tests/benchmarks/recall.py` has what they cost.
DEPTH = 96
_COUNTED_DEPTH = 1000
_PAGE = 256
# More are read than are wanted, as their texts may change the order.
_READ = 30
# Of how many the notes are chosen by a reranker, or by how they differ.
CHOICE = 40
_MOST_SPEAKERS = 1000


async def search(
    io: IO,
    query: str,
    *,
    namespace: Namespace,
    k: int = 10,
    hops: int = 1,
    filter: Mapping[Any, Any] | None = None,
    at: datetime | None = None,
    options: RecallOptions = DEFAULT_OPTIONS,
    reranking: Reranking | None = None,
    believe: Believe | None = None,
    sources: Sources | None = None,
) -> list[Hit]:
    """The `k` best notes of exactly this namespace, best first; fewer if fewer are there.

    hops: how many links may be followed from the best notes; 0 for none.
    filter: see `store.filter_language`. Archived and quarantined notes are left out unless
        the filter tests `status`. Linked notes must meet the filter too.
    at: as of then: notes that occurred later are left out, as are notes without
        `occurred_at` that were created later. A naive datetime is taken as UTC.
    reranking: who has the last word on the order of the best notes.
    believe: what is computed of each note, such as its confidence. sources: how far each note's
        kind of source is believed; None for all alike.
    Each hit's note carries the links that it made itself.
    Raises InvalidInputError for a blank query or a negative number, InvalidFilterError, and
    whatever the embedder or the store raises.
    """
    query = _readable(query)
    check_counts(k=k, hops=hops)
    scope = replace(scope_of(namespace, filter, at), believe=believe)
    if k == 0:
        return []
    speakers = await _speakers(io, scope) if options.speaker else ()
    moment = io.now() if at is None else as_utc(at)
    question = read_question(query, speakers, moment)
    vector = await io.embed_query(question.text[:MAX_EMBEDDED_CHARS])
    terms = io.sparse.query(question.text)
    known: dict[str, Note | None] = {}
    same: dict[str, Same] = {}
    places = max(k, CHOICE) if reranking or options.diversity else k
    depth = first = max(DEPTH, 2 * places)
    while True:
        total = None
        if depth > _COUNTED_DEPTH:
            total = await io.engine.count(scope.where)
            depth = min(depth, total)
        if depth == 0:
            return []
        lists = await listed(io, scope, question, vector, terms, depth, options)
        found = await ranked(io, scope, lists, question, places, options)
        hits = await _best(io, scope, found, places, known, same, options)
        if depth == total or lists.are_complete:
            break
        crowded = options.fold and depth == first and len(distinct(hits, 0, same)) < k
        if len(hits) >= places and not crowded:
            break
        # Short of notes although a list was cut: not all that was read met the filter. That
        # they say the same is worth one longer list, but not all that there is.
        depth *= 4
    if hops and hits and options.damping:
        by_id = {each.id: each for each in found}
        best = places + (len(hits) - len(distinct(hits, 0, same)) if options.fold else 0)
        hits = await expand(io, scope, hits, by_id, vector, k=best, hops=hops, options=options)
    if sources is not None:
        hits = trusted(hits, sources, options)
    hits = standing(hits, moment, options)
    hits = (distinct(hits, k, same) if options.fold else sorted(hits, key=place))[:places]
    if reranking is not None:
        hits = await rerank(io, query, hits, reranking)
    hits = diverse(hits, k, options.diversity)
    # Stable: notes that a reranker gives the same stay in the order that they had.
    hits = sorted(hits, key=lambda hit: -hit.score)
    if options.min_relevance is None:
        return hits
    return await relevant(io, scope, hits, question, vector, terms, options.min_relevance)


async def _speakers(io: IO, scope: Scope) -> Collection[str]:
    where = within(scope.namespace)
    found = await io.engine.facet("speaker", where, limit=_MOST_SPEAKERS, exact=False)
    return found.keys()


def _readable(query: object) -> str:
    """The query without outer blanks; what is not valid Unicode becomes "?"."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError("The query is empty or blank; say what to look for.")
    return query.strip().encode("utf-8", "replace").decode()


def check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidInputError(f"{name} is a whole number, 0 or more; got {count!r}.")


async def _best(
    io: IO,
    scope: Scope,
    ranked: list[Ranked],
    k: int,
    known: dict[str, Note | None],
    same: dict[str, Same],
    options: RecallOptions,
) -> list[Hit]:
    """At least the first `k` of `ranked` that may be returned, with what their texts tell.

    known: what was read already. same: see `distinct`.
    """
    wanted = max(k, _READ)
    hits: list[Hit] = []
    start = 0
    # Once they are all read, those that say the same as a better one make way for others.
    while start < len(ranked) and (
        len(hits) < wanted or (options.fold and len(distinct(hits, 0, same)) < k)
    ):
        missing = wanted - len(hits)
        if start:
            # Reading a long list must not hold up everything else on the loop.
            await io.sleep(0)
            missing = max(missing, DEPTH)
        page = ranked[start : start + min(missing, _PAGE)]
        start += len(page)
        unread = [found.id for found in page if found.id not in known]
        known.update(dict.fromkeys(unread))
        known.update(await scope.load(io, unread))
        for found in page:
            note = known[found.id]
            if note is not None:
                why = found.why | weighed(told(note), options)
                hits.append(Hit(note, fsum(why.values()), why))
    return sorted(_answering(hits, options), key=place)


def _answering(hits: list[Hit], options: RecallOptions) -> list[Hit]:
    """The hits; those that answer a question gain by what it means."""
    if not (options.answer and options.meaning):
        return hits
    meant = {hit.note.id: hit.why.get("meaning", 0.0) / options.meaning for hit in hits}
    questions = answered(hit.note for hit in hits)
    gains = {
        id: weighed({"answer": max(meant[each] for each in asked)}, options)
        for id, asked in questions.items()
    }
    return [_gaining(hit, gains.get(hit.note.id, {})) for hit in hits]


def _gaining(hit: Hit, gains: Mapping[str, float]) -> Hit:
    why = {**hit.why, **gains}
    return replace(hit, score=fsum(why.values()), why=why) if gains else hit
