"""Fusion: the lists of an engine, scored by every signal, as one ranking that can be explained.

Lists are of ids, scores and indexed numbers. Only the best notes are read, with the turns around
them, as reading payloads costs more than finding the notes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import fsum
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from amem_integrations.core.engine import Point, Query, Scored, SparseVector, Vector
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.values import on_clock
from amem_integrations.recall.query import Question, Scope, within_days
from amem_integrations.recall.signals import (
    Evidence,
    RecallOptions,
    Turns,
    relative_nearness,
    score_lists,
)
from amem_integrations.stores.codec import moment, within

Payloads: TypeAlias = Mapping[str, Mapping[str, Any]]

# How many of the best notes are joined with the turns around them.
_PLACED = 48
# How many notes of one place are read at most: a turn may be several notes.
NOTES_A_PLACE = 16
# How long a list may get to hold all notes of one score, such as notes of the same text.
_MOST_LEVEL = 10_000


class Ranked(NamedTuple):
    """A note's rank: `why` has each signal's contribution, and `score` is their sum."""

    id: str
    score: float
    why: dict[str, float]


def fuse(signals: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]) -> list[Ranked]:
    """Return every note that some signal knows, best first; ties in the order of ids.

    signals: by name, a value of 0 or more for each note.
    Adding scores keeps how much better the best is, which adding ranks (RRF) throws away.
    """
    return _in_order(_add(signals, weights).values())


def _add(
    signals: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    among: Collection[str] | None = None,
) -> dict[str, Ranked]:
    """The notes that some signal knows, by id, or those of them that are `among` these."""
    whys: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for name, values in signals.items():
        weight = weights[name]
        for id in values if among is None else values.keys() & among:
            why, value = whys[id], values[id]
            if weight and value:
                why[name] = weight * value
    return {id: _ranked(id, why) for id, why in whys.items()}


def _ranked(id: str, why: dict[str, float]) -> Ranked:
    return Ranked(id, fsum(why.values()), why)


def _in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(sorted(ranked, key=itemgetter(0)), key=itemgetter(1), reverse=True)


@dataclass(frozen=True, slots=True)
class Lists:
    """The evidence of an engine's lists. are_complete: whether none of them was cut."""

    evidence: Evidence
    places: Mapping[str, int]
    are_complete: bool


async def list_notes(
    io: IO,
    scope: Scope,
    question: Question,
    vector: Vector,
    terms: SparseVector,
    depth: int,
    options: RecallOptions,
) -> Lists:
    """List at most `depth` notes by meaning and by words, and as many of each speaker asked for."""
    scopes = [(0.0, scope.where), *_by_speaker(scope, question)]
    if options.date and question.days and (then := within_days(question.days)):
        scopes.append((0.0, both(scope.where, then)))
    # IDF over the namespace, so that notes of others move no score.
    corpus = within(scope.namespace)
    fields = ("place",) if options.words or options.reply else ()
    if question.days:
        fields += ("occurred_at", "utc_offset", "created_at")
    near: list[Query] = []
    asked: list[Query] = []
    wording: list[Query] = []
    for _, where in scopes:
        if options.meaning or options.reply:
            near.append(Query(vector, where, depth, fields=fields))
        if options.asked:
            asked.append(Query(vector, where, depth, fields=fields, questions=True))
        if options.words and terms.indices:
            wording.append(Query(terms, where, depth, corpus=corpus, fields=fields))
    lists, are_complete = await query_certain(io, [*near, *asked, *wording])
    speakers: dict[str, float] = {}
    for hits, (sureness, _) in zip(lists, scopes * 3, strict=False):
        if sureness:
            speakers.update(dict.fromkeys((hit.id for hit in hits), sureness))
    payloads = {hit.id: hit.payload for hits in lists for hit in hits}
    answers = iter(lists)
    cosines, likeness, bm25 = (
        {hit.id: hit.score for _ in queries for hit in next(answers)}
        for queries in (near, asked, wording)
    )
    evidence = Evidence(
        meanings=relative_nearness(cosines),
        asked=relative_nearness(likeness, cosines),
        bm25=bm25,
        speakers=speakers,
        days=question.days,
        moments=_moments(payloads) if question.days else {},
    )
    return Lists(evidence, _places(payloads), are_complete)


async def query_certain(io: IO, queries: Sequence[Query]) -> tuple[list[list[Scored]], bool]:
    """Ask the queries; leave out what chance chose, and tell whether none of the lists was cut.

    Chance chooses among the notes with the last score of a list that was cut. A list of little
    else is asked for again, longer and without whole payloads; its first notes by id stay.
    """
    answers = await io.engine.query(queries) if queries else []
    found = [_above_the_cut(query, hits) for query, hits in zip(queries, answers, strict=True)]
    level = [
        number
        for number, hits in enumerate(answers)
        if len(hits) == queries[number].limit > 2 * len(found[number])
    ]
    if level:
        longer = [
            replace(queries[number], limit=_MOST_LEVEL, fields=queries[number].fields or ())
            for number in level
        ]
        for number, hits in zip(level, await io.engine.query(longer), strict=True):
            ordered = sorted(hits, key=lambda hit: (-hit.score, hit.id))
            found[number] = ordered[: queries[number].limit]
    cut = any(len(hits) >= query.limit for query, hits in zip(queries, answers, strict=True))
    return found, not cut


def _above_the_cut(query: Query, hits: list[Scored]) -> list[Scored]:
    if len(hits) < query.limit:
        return hits
    least = hits[-1].score
    return [hit for hit in hits if hit.score > least]


def _by_speaker(scope: Scope, question: Question) -> list[tuple[float, Condition]]:
    """Where the notes of the speakers are that the question asks about, by how surely it does."""
    by_sureness: defaultdict[float, list[str]] = defaultdict(list)
    for speaker, sureness in question.about.items():
        by_sureness[sureness].append(speaker)
    return [
        (sureness, both(scope.where, match("speaker", *speakers)))
        for sureness, speakers in sorted(by_sureness.items())
    ]


@dataclass(frozen=True, slots=True)
class Ranking:
    """All notes that were found, best first.

    points: those that were read already. skipped: what the turns around say for a note, by its
    place; of places that were not looked at, as no note there can be among the first.
    """

    ranked: list[Ranked]
    question: Question
    points: Mapping[str, Point] = field(default_factory=dict[str, Point])
    skipped: Mapping[int, Mapping[str, float]] = field(
        default_factory=dict[int, Mapping[str, float]]
    )

    def of_skipped(self, payloads: Payloads, options: RecallOptions) -> Iterator[Ranked]:
        """Rank those that stand at skipped places, as if these had been looked at."""
        there = {id: p for id, p in payloads.items() if p.get("place") in self.skipped}
        own = _by_payload(there, self.question, options)
        for id, payload in there.items():
            if why := {**self.skipped[payload["place"]], **own.get(id, {})}:
                yield _ranked(id, why)


async def rank_notes(
    io: IO,
    scope: Scope,
    lists: Lists,
    question: Question,
    most: int,
    options: RecallOptions,
    *,
    first: int | None = None,
) -> Ranking:
    """Rank all notes listed and the turns around the best.

    most: how many notes will be shown at most; so many are joined with the turns around them.
    first: how many places of the ranking must be right; None for all.
    """
    evidence, weights = lists.evidence, options.weights
    ranked = _add(score_lists(evidence), weights)
    alone = _in_order(ranked.values())
    by_words = bool(options.words and evidence.bm25)
    if not (by_words or (options.reply and evidence.meanings)):
        return Ranking(alone, question)
    best = [found.id for found in alone[: max(_PLACED, most)]]
    turns = Turns({id: lists.places[id] for id in best if id in lists.places})
    missing = turns.missing_beside(best[: options.expand_best]) if by_words else set[int]()
    # Turns around the best that were listed themselves.
    turns |= {id: place for id, place in lists.places.items() if place in missing}
    # Of notes that were not listed, the turns around say what they say of any at that place.
    unlisted = {f"place {place}": place for place in missing}
    beside = replace(evidence, turns=Turns({**turns, **unlisted}))
    joined = _add(score_lists(beside), weights, beside.turns)
    there = {
        place: joined.pop(name).why if name in joined else {} for name, place in unlisted.items()
    }
    ranked |= joined
    wanted = missing
    if missing and first is not None:
        leading = _in_order(ranked.values())[:first]
        best = [found.id for found in leading]
        if len(leading) == first:
            wanted = _promising(there, leading[-1].score, question, options)
    points: dict[str, Point] = {}
    if wanted:
        # Turns of other speakers too: they say what the turns asked for are about.
        points = await _read_with_turns(io, scope, best[:_PLACED], wanted)
        payloads = {id: point.payload for id, point in points.items()}
        own = _by_payload(payloads, question, options)
        for id, place in _places(payloads).items():
            why = ranked[id].why if id in turns else there.get(place, {})
            if id in ranked or why or id in own:
                ranked[id] = _ranked(id, {**why, **own.get(id, {})})
    skipped = {place: there[place] for place in missing - wanted}
    return Ranking(_in_order(ranked.values()), question, points, skipped)


def _promising(
    there: Mapping[int, Mapping[str, float]],
    least: float,
    question: Question,
    options: RecallOptions,
) -> set[int]:
    """Those of the places at which a note can have `least` as its score."""
    own = options.speaker * max(question.about.values(), default=0.0)
    own += options.date if question.days else 0.0
    # A little less: sums of the same numbers may differ in their last digits.
    least -= own + 1e-9
    return {place for place, why in there.items() if fsum(why.values()) >= least}


def _by_payload(
    payloads: Payloads, question: Question, options: RecallOptions
) -> dict[str, dict[str, float]]:
    """What the signals say of notes by who said them, and when."""
    about = question.about
    spoken = [(id, payload.get("speaker", "")) for id, payload in payloads.items()]
    evidence = Evidence(
        speakers={id: about[speaker] for id, speaker in spoken if speaker in about},
        days=question.days,
        moments=_moments(payloads) if question.days else {},
    )
    return {found.id: found.why for found in _add(score_lists(evidence), options.weights).values()}


async def _read_with_turns(
    io: IO, scope: Scope, best: Sequence[str], places: Iterable[int]
) -> dict[str, Point]:
    """Read notes and, in the same call, those that stand at `places`."""
    wanted = sorted(places)
    where = both(scope.where, AnyOf((ids(best), match("place", *wanted))))
    limit = len(best) + len(wanted) * NOTES_A_PLACE
    return {point.id: point for point in await io.engine.scroll(where, limit=limit)}


def _places(payloads: Payloads) -> dict[str, int]:
    return {id: payload["place"] for id, payload in payloads.items() if "place" in payload}


def _moments(payloads: Payloads) -> dict[str, datetime]:
    """When each note was said, on its own clock; if that is not known, when it was stored."""
    return {
        id: on_clock(
            moment(payload.get("occurred_at", payload["created_at"])), payload.get("utc_offset")
        )
        for id, payload in payloads.items()
    }
