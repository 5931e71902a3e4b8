"""Search: from a question to the notes that answer it, each with the reasons it was found.

One batch of queries gives the engine's lists; `rank_notes` fuses all signals; the best notes are
read, links are followed, outdated notes and duplicates give way. Only a reranker calls a model.
`nearest` and `newest` page over notes.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import Any, TypeAlias

from amem_integrations.core.engine import Query
from amem_integrations.core.filters import Condition
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace, encode
from amem_integrations.core.note import Note, as_aware, as_utc
from amem_integrations.core.values import readable
from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.fusion import Lists, Ranking, fuse, list_notes, rank_notes
from amem_integrations.recall.links import follow_links, hit_order
from amem_integrations.recall.query import Believe, Scope, read_question, scope_of
from amem_integrations.recall.relevance import covered_by, measure_relevance
from amem_integrations.recall.rerank import (
    Reranking,
    Same,
    Sources,
    demote_doubtful,
    diversify,
    fold_duplicates,
    rerank,
    weigh_sources,
)
from amem_integrations.recall.signals import DEFAULT_OPTIONS, Evidence, RecallOptions, score_texts
from amem_integrations.stores.codec import within
from amem_integrations.stores.filters.language import Filter
from amem_integrations.stores.read import notes_by_id

Place: TypeAlias = tuple[str, float | int]
Meets: TypeAlias = Callable[[Note], bool]

# A longer query is embedded by its beginning; all of its words are still matched.
MAX_EMBEDDED_CHARS = 4000

# How long the lists are; `tests/benchmarks/recall.py` has what they cost.
DEPTH = 96
_COUNTED_DEPTH = 1000
_MIN_DEPTH = 32
_FEW = 8
_PAGE = 256
# More notes are read than are wanted, as their texts may change the order.
_READ = 30
# How many notes a reranker, or `diversity`, chooses from.
CHOICE = 40
_MOST_SPEAKERS = 1000


async def search(
    io: IO,
    query: str,
    *,
    namespace: Namespace,
    k: int = 10,
    hops: int = 1,
    filter: Mapping[Any, Any] | Filter | None = None,
    at: datetime | None = None,
    options: RecallOptions = DEFAULT_OPTIONS,
    reranking: Reranking | None = None,
    believe: Believe | None = None,
    sources: Sources | None = None,
) -> list[Hit]:
    """Return the `k` best notes of exactly this namespace, best first.

    hops: how many links are followed from the best notes; 0 for none.
    filter: see `stores.filters.language`. Skipped, archived and quarantined notes are left out
        unless the filter tests `status`. Linked notes must meet the filter too.
    at: as of then: notes that occurred later are left out, as are notes without `occurred_at`
        that were created later. Its zone says which day is "yesterday"; a naive datetime is taken
        as UTC.
    reranking: orders the best notes.
    believe: computes of each note what is not stored, such as its confidence.
    sources: the trust in each note's kind of source; None for all alike.
    Each hit's note carries the links that it made itself.
    Raises InvalidInputError for a blank query or a negative number, InvalidFilterError, and
    whatever the embedder or the store raises.
    """
    query = _readable(query)
    check_counts(k=k, hops=hops)
    scope = replace(scope_of(namespace, filter, at), believe=believe)
    if k == 0:
        return []
    now = io.now()
    speakers = await _speakers(io, namespace, now) if options.speaker else ()
    asked = now if at is None else as_aware(at)
    moment = as_utc(asked)
    question = read_question(query, speakers, asked)
    vector = await io.embed_query(question.text[:MAX_EMBEDDED_CHARS])
    terms = io.sparse.query(question.text)
    known: dict[str, Note | None] = {}
    same: dict[str, Same] = {}
    places = max(k, CHOICE) if reranking or options.diversity else k
    depth = shortest = max(DEPTH, 2 * places)
    while True:
        total = None
        if depth > _COUNTED_DEPTH:
            total = await io.engine.count(scope.where)
            depth = min(depth, total)
        if depth == 0:
            return []
        lists = await list_notes(io, scope, question, vector, terms, depth, options)
        first = max(places, _READ)
        ranking = await rank_notes(io, scope, lists, question, places, options, first=first)
        hits = await _read_best(io, scope, ranking, lists, places, known, same, options)
        if ranking.skipped and (len(hits) < first or _is_crowded(hits, k, same, options)):
            # Some of the first notes make way for others, so that all of them count.
            ranking = await rank_notes(io, scope, lists, question, places, options)
            hits = await _read_best(io, scope, ranking, lists, places, known, same, options)
        if depth == total or lists.are_complete:
            break
        crowded = depth == shortest and _is_crowded(hits, k, same, options)
        if len(hits) >= places and not crowded:
            break
        # Short of notes although a list was cut: not all that was read met the filter. That
        # they say the same is worth one longer list, but not all that there is.
        depth *= 4
    if hops and hits and options.damping:
        folded = len(hits) - len(fold_duplicates(hits, 0, same)) if options.fold_duplicates else 0
        hits = await follow_links(
            io, scope, hits, ranking, vector, k=places + folded, hops=hops, options=options
        )
    if sources is not None:
        hits = weigh_sources(hits, sources, lambda: covered_by(io.sparse, question), options)
    hits = demote_doubtful(hits, moment, options)
    hits = (
        fold_duplicates(hits, k, same) if options.fold_duplicates else sorted(hits, key=hit_order)
    )
    hits = hits[:places]
    if reranking is not None:
        hits = await rerank(io, query, hits, reranking)
    # Stable: notes that a reranker gives the same stay in the order that they had.
    hits = sorted(diversify(hits, k, options.diversity), key=lambda hit: -hit.score)
    if options.min_relevance is None:
        return hits
    rated = await measure_relevance(io, scope, hits, question, vector)
    return [hit for hit in rated if (hit.relevance or 0.0) >= options.min_relevance]


async def _speakers(io: IO, namespace: Namespace, now: datetime) -> Collection[str]:
    kept, name = io.caches.speakers, encode(namespace)
    drops, speakers = kept.drops, kept.get(name, now)
    if speakers is None:
        where = within(namespace)
        counts = await io.engine.facet("speaker", where, limit=_MOST_SPEAKERS, exact=False)
        speakers = counts.keys()
        kept.keep(name, speakers, now, drops)
    return speakers


def _is_crowded(hits: Sequence[Hit], k: int, same: dict[str, Same], options: RecallOptions) -> bool:
    """Whether duplicates of better notes take some of the `k` places."""
    return options.fold_duplicates and len(fold_duplicates(hits, 0, same)) < k


async def _read_best(
    io: IO,
    scope: Scope,
    ranking: Ranking,
    lists: Lists,
    k: int,
    known: dict[str, Note | None],
    same: dict[str, Same],
    options: RecallOptions,
) -> list[Hit]:
    """Return at least the first `k` notes that may be returned, scored by their texts too.

    If the ranking skipped turns, these are the first of it only. known: notes that were read
    before. same: see `fold_duplicates`.
    """
    points, question = ranking.points, ranking.question
    wanted = max(k, _READ)
    ranked = ranking.ranked[:wanted] if ranking.skipped else ranking.ranked
    hits: list[Hit] = []
    start = 0
    # Once they are all read, duplicates of a better note make way for others.
    while start < len(ranked) and (len(hits) < wanted or _is_crowded(hits, k, same, options)):
        missing = wanted - len(hits)
        if start:
            # Reading a long list must not hold up everything else on the loop.
            await io.sleep(0)
            missing = max(missing, DEPTH)
        page = ranked[start : start + min(missing, _PAGE)]
        start += len(page)
        unread = [found.id for found in page if found.id not in known]
        known.update(dict.fromkeys(unread))
        known.update(scope.admit(points[id] for id in unread if id in points))
        known.update(await scope.load(io, [id for id in unread if id not in points]))
        for found in page:
            note = known[found.id]
            if note is not None:
                hits.append(Hit(note, found.score, found.why))
    evidence = Evidence(
        meanings=lists.evidence.meanings if options.meaning else {},
        about=question.about,
        now=question.now,
        notes={hit.note.id: hit.note for hit in hits},
    )
    by_text = {found.id: found.why for found in fuse(score_texts(evidence), options.weights)}
    whys = [(hit.note, {**hit.why, **by_text.get(hit.note.id, {})}) for hit in hits]
    return sorted((Hit(note, fsum(why.values()), why) for note, why in whys), key=hit_order)


def _readable(query: object) -> str:
    """The query without outer blanks and encoded data; what is not valid Unicode becomes "?"."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError("The query is empty or blank; say what to look for.")
    return readable(query.strip()).encode("utf-8", "replace").decode()


def check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidInputError(f"{name} is a whole number, 0 or more; got {count!r}.")


# -- pages: a score is nothing but a cosine, and ties have an order ------------------------------


async def nearest(
    io: IO,
    query: str,
    where: Condition,
    *,
    limit: int,
    offset: int = 0,
    meets: Meets | None = None,
) -> list[tuple[Note, float]]:
    """Notes by the cosine of their best passage to the query, in [-1, 1]; ties in id order.

    Notes without any text are not among them. meets: what the notes must
    meet besides `where`.
    """
    vector = await io.embed_query(query[:MAX_EMBEDDED_CHARS])

    async def first(depth: int) -> list[Place]:
        [found] = await io.engine.query([Query(vector, where, depth)])
        return [(scored.id, scored.score) for scored in found]

    return await _page(io, first, where, limit, offset, meets)


async def newest(
    io: IO, where: Condition, *, limit: int, offset: int = 0, meets: Meets | None = None
) -> list[Note]:
    """Notes by the time at which their callers last changed them; ties in id order."""

    async def first(depth: int) -> list[Place]:
        points = await io.engine.scroll(
            where, limit=depth, order_by="updated_at", descending=True, fields=("updated_at",)
        )
        return [(point.id, point.payload["updated_at"]) for point in points]

    return [note for note, _ in await _page(io, first, where, limit, offset, meets)]


async def _page(
    io: IO,
    first: Callable[[int], Awaitable[list[Place]]],
    where: Condition,
    limit: int,
    offset: int,
    meets: Meets | None,
) -> list[tuple[Note, float]]:
    """The page of what `first(depth)` gives: the best `depth` places, ties in any order."""
    if limit == 0:
        return []
    end = offset + limit
    depth = end + 1 if meets is None else max(_MIN_DEPTH, 2 * end)
    known: dict[str, Note | None] = {}
    while True:
        if depth > _COUNTED_DEPTH:
            depth = min(depth, await io.engine.count(where) + 1)
        places = await first(depth)
        complete = len(places) < depth
        if not complete:
            # Of those that tie with the last one, some may have been left out.
            places = [place for place in places if place[1] > places[-1][1]]
        places.sort(key=lambda place: (-place[1], place[0]))
        if meets is not None:
            places = await _passing(io, places, meets, end, known)
        if complete or len(places) >= end:
            chosen = places[offset:end]
            await _load(io, [id for id, _ in chosen], known)
            return [(note, rank) for id, rank in chosen if (note := known[id]) is not None]
        depth *= 4


async def _passing(
    io: IO, places: Sequence[Place], meets: Meets, wanted: int, known: dict[str, Note | None]
) -> list[Place]:
    """The first `wanted` of the places whose notes are there and meet the test."""
    passing: list[Place] = []
    start = 0
    while len(passing) < wanted and start < len(places):
        page = places[start : start + min(max(wanted - len(passing), _FEW), _PAGE)]
        start += len(page)
        await _load(io, [id for id, _ in page], known)
        passing.extend(
            place for place in page if (note := known[place[0]]) is not None and meets(note)
        )
        # Reading a long list must not hold up everything else on the loop.
        await io.sleep(0)
    return passing[:wanted]


async def _load(io: IO, ids: Sequence[str], known: dict[str, Note | None]) -> None:
    missing = [id for id in ids if id not in known]
    known.update(dict.fromkeys(missing))
    known.update(await notes_by_id(io, missing))
