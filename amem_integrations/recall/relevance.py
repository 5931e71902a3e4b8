"""Relevance: whether the notes found have to do with the question at all.

Scores rank the notes of one search, and the best of them may still answer nothing. Relevance
compares across searches; `search` measures it if a least relevance is set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

from amem_integrations.core.engine import Query, SparseVector, Vector
from amem_integrations.core.filters import both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.note import Hit
from amem_integrations.embedders.identifiers import find_identifiers
from amem_integrations.embedders.sparse import identifier_index, is_identifier
from amem_integrations.recall.fusion import NOTES_A_PLACE
from amem_integrations.recall.query import Question, Scope
from amem_integrations.recall.signals import Turns
from amem_integrations.stores.codec import place_of, within

# What full coverage, and the name of somebody who is here, count beside a cosine.
_COVERED = 0.5
_NAMED = 0.2
# How far a word counts as held that stands in a turn nearby, by how many turns later it comes.
_AROUND: Mapping[int, float] = {-1: 0.7, 1: 0.6, -2: 0.5, 2: 0.4}
# A word's weight in the note that has most of it, over its IDF.
_BEST_WEIGHT = 1.5
# As if so many more notes stood by without any of the words: among a few notes, a word that one
# of them has would tell next to nothing.
_OTHERS = 100
# Words of a question beyond these change little, and each is asked about on its own.
_MOST_TERMS = 32
# What is left of relevance if no note has the invoice, telephone or ticket that a question names.
_UNKNOWN = 0.4


async def keep_relevant(
    io: IO,
    scope: Scope,
    hits: Sequence[Hit],
    question: Question,
    vector: Vector,
    terms: SparseVector,
    least: float,
) -> list[Hit]:
    """Return the hits, each with its relevance; none if not one of them reaches `least`.

    All or none, since the doubt is whether the question is about anything stored: dropping each
    hit below 0.6 takes recall@10 on LoCoMo from 82 to 72, this to 79.
    Relevance is the cosine, at least 0, plus half of the coverage, plus a little if the question
    names a speaker who is here. Cosines depend on the embedder, and so does relevance. The nearest
    invoice is no answer if the question gives the number of another one, so identifiers that no
    note has lower the relevance of all.
    """
    if not hits:
        return []
    found = dict.fromkeys(hit.note.id for hit in hits)
    turns = await _turns(io, scope, hits)
    near = list(found | dict.fromkeys(turns))
    around = both(scope.where, ids(near))
    corpus = within(scope.namespace)
    singles = [SparseVector((term,), (1.0,)) for term in terms.indices[:_MOST_TERMS]]
    dense, *sparse = await io.engine.query(
        [
            Query(vector, both(scope.where, ids(list(found))), len(found)),
            *(Query(term, around, len(near), corpus=corpus) for term in singles),
            *(Query(term, corpus, 1, corpus=corpus) for term in singles),
        ]
    )
    best = [found[0].score if found else None for found in sparse[len(singles) :]]
    asked = dict(zip(terms.indices, best, strict=False))
    known = _known_share(question, asked)
    shares = [
        {scored.id: min(scored.score / most, 1.0) for scored in found} if most else {}
        for found, most in zip(sparse[: len(singles)], best, strict=True)
    ]
    count = await io.engine.count(corpus)
    unknown = log(2 * count + 2)
    rarer = log(1 + _OTHERS / (count + 1))
    masses = [
        rarer + (unknown if score is None else min(score / _BEST_WEIGHT, unknown)) for score in best
    ]
    # That an identifier is known in one form only says nothing against it.
    masses = [
        0.0 if score is None and is_identifier(index) else mass
        for (index, score), mass in zip(asked.items(), masses, strict=True)
    ]
    cosines = {scored.id: scored.score for scored in dense}
    measured = [
        replace(
            hit,
            relevance=(_UNKNOWN + (1 - _UNKNOWN) * known)
            * (
                max(cosines.get(hit.note.id, 0.0), 0.0)
                + _COVERED * coverage(_around(hit.note.id, turns), shares, masses)
                + _NAMED * question.named
            ),
        )
        for hit in hits
    ]
    return measured if max(hit.relevance or 0.0 for hit in measured) >= least else []


def _known_share(question: Question, asked: Mapping[int, float | None]) -> float:
    """The share of the question's distinctive identifiers that any note has; 1 without any.

    asked: the best score of each of the question's terms, None where no note has it.
    """
    forms = [
        # A collection with an older encoder has none of them among its terms.
        [asked[index] for index in map(identifier_index, each.distinctive) if index in asked]
        for each in find_identifiers(question.text)
    ]
    known = [any(score is not None for score in scores) for scores in forms if scores]
    return sum(known) / len(known) if known else 1.0


def coverage(
    around: Mapping[str, float], shares: Sequence[Mapping[str, float]], masses: Sequence[float]
) -> float:
    """Return the share of a question that a note and the turns around it contain, in [0, 1].

    around: how far a word in each of these notes counts.
    shares: for each word of the question, the notes that contain it, and how much of it: 1 for the
        note with most. A long text contains many words by chance, and little of each.
    masses: the IDF of each word.
    """
    whole = sum(masses)
    covered = (
        mass * max(weight * share.get(id, 0.0) for id, weight in around.items())
        for share, mass in zip(shares, masses, strict=True)
    )
    return sum(covered) / whole if whole else 0.0


def _around(id: str, turns: Turns) -> dict[str, float]:
    """How far a word in the note itself, or in a turn around it, counts for the note."""
    beside = {other: weight for n, weight in _AROUND.items() for other in turns.beside(id, n)}
    return {**beside, id: 1.0}


async def _turns(io: IO, scope: Scope, hits: Sequence[Hit]) -> Turns:
    """The places of the hits, and of the notes in the turns around them."""
    places = {
        hit.note.id: place_of(hit.note.namespace, hit.note.session, hit.note.sequence)
        for hit in hits
    }
    own = {id: place for id, place in places.items() if place is not None}
    wanted = sorted({place + offset for place in own.values() for offset in _AROUND})
    if not wanted:
        return Turns(own)
    limit = len(wanted) * NOTES_A_PLACE
    points = await io.engine.scroll(
        both(scope.where, match("place", *wanted)), limit=limit, order_by="place", fields=("place",)
    )
    found = {point.id: point.payload["place"] for point in points}
    if len(found) == limit:
        # Chance chose among the notes of the place at which the list was cut.
        last = max(found.values())
        found = {id: place for id, place in found.items() if place < last}
    return Turns({**found, **own})
