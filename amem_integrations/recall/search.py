"""Search: a question in, the notes that answer it out, each with why it was found.

`question` reads whose words it asks for and of when; what is left becomes a vector and terms; one
batch asks the engine for the lists; `signals` and `rank` make one ranking of them; the best notes
are read, and what their texts tell is added; `expand` follows their links; `distinct` folds those
that say the same. `rerank` and `relevance` come last, where they are asked for.
No model is called on this path, unless a reranker is given. `memory` calls `search`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import fsum
from typing import Any

from amem_integrations.conditions import Any as AnyOf
from amem_integrations.conditions import both, match
from amem_integrations.errors import InvalidInputError
from amem_integrations.namespace import Namespace
from amem_integrations.note import Hit, Note, as_utc
from amem_integrations.ports import IO, Query, Scored, SparseVector, Vector
from amem_integrations.recall.distinct import distinct, diverse
from amem_integrations.recall.expand import expand, place, weighed
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.question import Question, read_question
from amem_integrations.recall.rank import Ranked, fuse
from amem_integrations.recall.relevance import relevant
from amem_integrations.recall.rerank import Reranking, rerank
from amem_integrations.recall.scope import Scope, scope_of
from amem_integrations.recall.signals import (
    FIELDS,
    OFFSETS,
    Turn,
    Turns,
    date,
    meaning,
    reply,
    speaker,
    told,
    words,
)
from amem_integrations.store.schema import within

# A query longer than this is embedded by its beginning; all of its words are still matched.
MAX_EMBEDDED_CHARS = 4000

# How long the lists are; `tests/benchmarks/recall.py` has what they cost.
DEPTH = 128
_COUNTED_DEPTH = 1000
_PAGE = 256
# More are read than are wanted, as their texts may change the order.
_READ = 20
# Of how many the notes are chosen by a reranker, or by how they differ.
CHOICE = 40
_MOST_SPEAKERS = 64


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
) -> list[Hit]:
    """The `k` best notes of exactly this namespace, best first; fewer if fewer are there.

    hops: how many links may be followed from the best notes; 0 for none.
    filter: see `store.filter_language`. Archived and quarantined notes are left out unless
        the filter tests `status`. Linked notes must meet the filter too.
    at: as of then: notes that occurred later are left out, as are notes without
        `occurred_at` that were created later. A naive datetime is taken as UTC.
    reranking: who has the last word on the order of the best notes.
    Each hit's note carries the links that it made itself.
    Raises InvalidInputError for a blank query or a negative number, InvalidFilterError, and
    whatever the embedder or the store raises.
    """
    query = _readable(query)
    check_counts(k=k, hops=hops)
    scope = scope_of(namespace, filter, at)
    if k == 0:
        return []
    speakers = await _speakers(io, scope) if options.speaker else ()
    question = read_question(query, speakers, io.now() if at is None else as_utc(at))
    vector = await io.embed_query(question.text[:MAX_EMBEDDED_CHARS])
    terms = io.sparse.query(question.text)
    known: dict[str, Note | None] = {}
    places = max(k, CHOICE) if reranking or options.diversity else k
    depth = max(DEPTH, 2 * places)
    while True:
        total = None
        if depth > _COUNTED_DEPTH:
            total = await io.engine.count(scope.where)
            depth = min(depth, total)
        if depth == 0:
            return []
        lists = await _lists(io, scope, question, vector, terms, depth, options)
        ranked = await _ranked(io, scope, lists, question, options)
        hits = await _best(io, scope, ranked, places, known, options)
        if len(hits) >= places or depth == total or lists.are_complete:
            break
        # Short of notes although a list was cut: not all that was read met the filter.
        depth *= 4
    if hops and hits and options.damping:
        by_id = {found.id: found for found in ranked}
        repeats = len(hits) - len(distinct(hits, 0))
        best = places + repeats
        hits = await expand(io, scope, hits, by_id, vector, k=best, hops=hops, options=options)
    hits = distinct(hits, k)[:places]
    if reranking is not None:
        hits = await rerank(io, query, hits, reranking)
    hits = sorted(diverse(hits, k, options.diversity), key=place)
    if options.min_relevance is None:
        return hits
    return await relevant(io, scope, hits, question, vector, terms, options.min_relevance)


async def _speakers(io: IO, scope: Scope) -> Collection[str]:
    where = within(scope.namespace)
    return (await io.engine.facet("speaker", where, limit=_MOST_SPEAKERS)).keys()


def _readable(query: object) -> str:
    """The query without outer blanks; what is not valid Unicode becomes "?"."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError("The query is empty or blank; say what to look for.")
    return query.strip().encode("utf-8", "replace").decode()


def check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidInputError(f"{name} is a whole number, 0 or more; got {count!r}.")


@dataclass(frozen=True, slots=True)
class _Lists:
    """What the engine listed: cosines and BM25 by note, and where each of the notes stands."""

    cosines: Mapping[str, float]
    bm25: Mapping[str, float]
    turns: Mapping[str, Turn]
    are_complete: bool


async def _lists(
    io: IO,
    scope: Scope,
    question: Question,
    vector: Vector,
    terms: SparseVector,
    depth: int,
    options: RecallOptions,
) -> _Lists:
    """At most `depth` notes by each signal, and as many of the speakers asked about; in one go."""
    scopes = [scope.where]
    if question.about:
        scopes.append(both(scope.where, match("speaker", *question.about)))
    dense: list[Query] = []
    sparse: list[Query] = []
    for where in scopes:
        if options.dense or options.reply:
            dense.append(Query(vector, where, depth, fields=FIELDS))
        if options.sparse and terms.indices:
            # IDF over the namespace, so that nobody else's notes move a score.
            corpus = within(scope.namespace)
            sparse.append(Query(terms, where, depth, corpus=corpus, fields=FIELDS))
    queries = [*dense, *sparse]
    found = await io.engine.query(queries) if queries else []
    return _Lists(
        _scores(found[: len(dense)]),
        _scores(found[len(dense) :]),
        {scored.id: Turn.of(scored.payload) for each in found for scored in each},
        all(len(each) < depth for each in found),
    )


def _scores(lists: Sequence[Sequence[Scored]]) -> dict[str, float]:
    return {scored.id: scored.score for found in lists for scored in found}


async def _ranked(
    io: IO, scope: Scope, lists: _Lists, question: Question, options: RecallOptions
) -> list[Ranked]:
    """All that was listed, and the turns around the best, best first."""
    turns = Turns(lists.turns)
    ranked = fuse(_signals(lists, turns, question), options.weights)
    if not (options.around and options.sparse and lists.bm25):
        return ranked
    missing = turns.missing_beside(found.id for found in ranked[: options.around])
    if not missing:
        return ranked
    places = tuple(
        both(match("session", session), match("sequence", *sorted(sequences)))
        for session, sequences in missing.items()
    )
    most = options.around * len(OFFSETS)
    points = await io.engine.scroll(both(scope.where, AnyOf(places)), limit=most, fields=FIELDS)
    if not points:
        return ranked
    around = {point.id: Turn.of(point.payload) for point in points}
    return fuse(_signals(lists, Turns({**turns, **around}), question), options.weights)


def _signals(lists: _Lists, turns: Turns, question: Question) -> dict[str, Mapping[str, float]]:
    meanings = meaning(lists.cosines)
    return {
        "dense": meanings,
        "sparse": words(lists.bm25, turns),
        "reply": reply(meanings, turns),
        "speaker": speaker(question.about, turns),
        "date": date(question.days, turns),
    }


async def _best(
    io: IO,
    scope: Scope,
    ranked: list[Ranked],
    k: int,
    known: dict[str, Note | None],
    options: RecallOptions,
) -> list[Hit]:
    """At least the first `k` of `ranked` that may be returned, with what their texts tell.

    known: what was read already.
    """
    wanted = max(k, _READ)
    hits: list[Hit] = []
    start = 0
    # Once they are all read, those that say the same as a better one make way for others.
    while (len(hits) < wanted or len(distinct(hits, 0)) < k) and start < len(ranked):
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
    return sorted(hits, key=place)
