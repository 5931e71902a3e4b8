"""What the engine lists for a question, and the one ranking that `signals` and `rank` make of it.

No payload is read here, as that costs more than finding the notes: lists are of ids and scores,
who spoke is told by the list that a note is in, and places and times come from their indexes.
`search` calls this, and reads the notes of the best.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from amem_integrations.core.filters import Condition, Not, both, ids, match
from amem_integrations.core.io import IO, Query, Scored, SparseVector, Vector
from amem_integrations.recall.fusion import Ranked, fuse, in_order
from amem_integrations.recall.options import RecallOptions
from amem_integrations.recall.query import Question
from amem_integrations.recall.scope import Scope
from amem_integrations.recall.signals import Turns, date, meaning, reply, words
from amem_integrations.stores.codec import within

Number = TypeVar("Number", int, float)

# How many of the best notes are joined with the turns around them.
_PLACED = 48
# How many notes there may be at a place, all in all: turns are made into several.
_A_PLACE = 16
# How long a list may get to have all notes of one score in it, such as those that say the same.
_MOST_LEVEL = 10_000


@dataclass(frozen=True, slots=True)
class Lists:
    """Cosines and BM25 by note; by whom one is whose words are asked for, and how surely."""

    cosines: Mapping[str, float]
    bm25: Mapping[str, float]
    asked: Mapping[str, float]
    are_complete: bool


async def listed(
    io: IO,
    scope: Scope,
    question: Question,
    vector: Vector,
    terms: SparseVector,
    depth: int,
    options: RecallOptions,
) -> Lists:
    """At most `depth` notes by each signal, and as many of the speakers asked about; in one go."""
    scopes = [(0.0, scope.where), *_asked_of(scope, question)]
    dense: list[Query] = []
    sparse: list[Query] = []
    # IDF over the namespace, so that nobody else's notes move a score.
    corpus = within(scope.namespace)
    for _, where in scopes:
        if options.meaning or options.reply:
            dense.append(Query(vector, where, depth))
        if options.words and terms.indices:
            sparse.append(Query(terms, where, depth, corpus=corpus))
    queries = [*dense, *sparse]
    found, are_complete = await certain(io, queries)
    asked: dict[str, float] = {}
    for each, (sureness, _) in zip(found, scopes * 2, strict=False):
        if sureness:
            asked.update(dict.fromkeys((scored.id for scored in each), sureness))
    return Lists(
        _scores(found[: len(dense)]),
        _scores(found[len(dense) :]),
        asked,
        are_complete,
    )


async def certain(io: IO, queries: Sequence[Query]) -> tuple[list[list[Scored]], bool]:
    """What the queries find, without what chance chose; and whether none of the lists was cut.

    Chance chooses among the notes with the last score of a list that was cut, so these are left
    out. A list that is little else is asked for again, longer, and of them the first by id stay.
    """
    answers = await io.engine.query(queries) if queries else []
    found = [_above_the_cut(query, each) for query, each in zip(queries, answers, strict=True)]
    level = [
        place
        for place, each in enumerate(answers)
        if len(each) == queries[place].limit > 2 * len(found[place])
    ]
    if level:
        longer = [replace(queries[place], limit=_MOST_LEVEL) for place in level]
        for place, each in zip(level, await io.engine.query(longer), strict=True):
            ordered = sorted(each, key=lambda scored: (-scored.score, scored.id))
            found[place] = ordered[: queries[place].limit]
    cut = any(len(each) >= query.limit for query, each in zip(queries, answers, strict=True))
    return found, not cut


def _above_the_cut(query: Query, found: list[Scored]) -> list[Scored]:
    if len(found) < query.limit:
        return found
    least = found[-1].score
    return [scored for scored in found if scored.score > least]


def _asked_of(scope: Scope, question: Question) -> list[tuple[float, Condition]]:
    """Where the notes are whose speakers the question asks about, by how surely it does."""
    by_sureness: dict[float, list[str]] = {}
    for speaker, sureness in question.about.items():
        by_sureness.setdefault(sureness, []).append(speaker)
    return [
        (sureness, both(scope.where, match("speaker", *speakers)))
        for sureness, speakers in sorted(by_sureness.items())
    ]


def _by_speaker(scope: Scope, question: Question) -> list[tuple[float, Condition]]:
    """Where the notes are, parted by how surely the question asks for their speakers."""
    asked = _asked_of(scope, question)
    others = both(scope.where, Not(match("speaker", *question.about))) if asked else scope.where
    return [(0.0, others), *asked]


def _scores(lists: Sequence[Sequence[Scored]]) -> dict[str, float]:
    return {scored.id: scored.score for found in lists for scored in found}


async def ranked(
    io: IO, scope: Scope, lists: Lists, question: Question, most: int, options: RecallOptions
) -> list[Ranked]:
    """All that was listed, and the turns around the best, best first.

    most: how many will be read at most; so many are joined with the turns around them.
    """
    weights = options.weights
    meanings = meaning(lists.cosines)
    known = lists.cosines.keys() | lists.bm25.keys()
    days = question.days
    moments = await _moments(io, known) if days else {}
    alone = fuse(
        {
            "meaning": meanings,
            "words": words(lists.bm25),
            "speaker": lists.asked,
            "date": date(days, moments),
        },
        weights,
    )
    if not ((options.words and lists.bm25) or (options.reply and meanings)):
        return alone
    best = [found.id for found in alone[: max(_PLACED, most)]]
    turns = Turns(await _numbers(io, "place", best))
    asked = lists.asked
    missing = turns.missing_beside(best[: options.around])
    if missing and options.words and lists.bm25:
        # Those of other speakers too: what they said is what the turns asked for were said about.
        for sureness, where in _by_speaker(scope, question):
            beside = await at_places(io, where, missing)
            turns = Turns({**turns, **beside})
            if sureness:
                asked = {**asked, **dict.fromkeys(beside, sureness)}
        if days:
            moments |= await _moments(io, turns.keys() - moments.keys())
    joined = fuse(
        {
            "meaning": _of(turns, meanings),
            "words": words(lists.bm25, turns),
            "reply": reply(meanings, turns),
            "speaker": _of(turns, asked),
            "date": date(days, _of(turns, moments)),
        },
        weights,
    )
    return in_order([*joined, *(each for each in alone if each.id not in turns)])


def _of(turns: Turns, values: Mapping[str, Number]) -> dict[str, Number]:
    return {id: values[id] for id in turns if id in values}


async def _moments(io: IO, wanted: Collection[str]) -> dict[str, int]:
    """When each was said, in microseconds; of those that do not say, when they were written."""
    found = await _numbers(io, "occurred_at", wanted)
    return found | await _numbers(io, "created_at", wanted - found.keys())


async def at_places(io: IO, where: Condition, places: Collection[int]) -> Mapping[str, int]:
    """The notes that meet `where` and stand at these places, and where each does."""
    limit = len(places) * _A_PLACE
    found = await _scrolled(io, "place", both(where, match("place", *sorted(places))), limit)
    if len(found) < limit:
        return found
    # Chance chose among the notes of the place at which it was cut.
    last = max(found.values())
    return {id: place for id, place in found.items() if place < last}


async def _numbers(io: IO, name: str, wanted: Collection[str]) -> dict[str, int]:
    """The indexed number `name` of those among the notes that have one."""
    if not wanted:
        return {}
    return await _scrolled(io, name, ids(list(wanted)), len(wanted))


async def _scrolled(io: IO, name: str, where: Condition, limit: int) -> dict[str, int]:
    points = await io.engine.scroll(where, limit=limit, order_by=name, fields=(name,))
    return {point.id: point.payload[name] for point in points}
