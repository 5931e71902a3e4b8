"""Candidates: which older notes a new one is held against (paper §3.2, the top-k neighbours).

Nearness by meaning comes first; notes that share its words fill up the list, so that a
language the embedder does not know still finds its neighbours.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amem_integrations.core.filters import Condition, Not, Range, both, ids, match
from amem_integrations.core.io import IO, Point, Query, Vector
from amem_integrations.core.note import Note, Status
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    Settings,
    content_digest,
    namespace_of,
    open_ids,
    understanding_from,
)
from amem_integrations.stores.codec import micros, within
from amem_integrations.stores.passages import passages, sparse_text, understanding
from amem_integrations.stores.read import load

_LINKABLE = match("status", Status.RAW, Status.FORMED, Status.PARKED)


async def find_candidates(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """The candidates of every open note."""
    notes = await load(io, open_ids(state), namespace_of(state))
    understood = state.get("understanding", {})
    subjects = [
        _as_understood(note, understood[note.id]) if note.id in understood else note
        for note in notes.values()
    ]
    vectors = await _vectors(io, subjects)
    found = await io.gather(
        *(_neighbours(io, settings, subject, vectors[subject.id]) for subject in subjects)
    )
    return {"candidates": dict(zip((note.id for note in subjects), found, strict=True))}


async def _vectors(io: IO, subjects: Sequence[Note]) -> dict[str, Vector]:
    """A vector to look around from for each subject: the stored one, unless it says more now."""
    raw = [each.id for each in subjects if each.parts is not None or not understanding(each)]
    points = await io.engine.get(raw, vectors=True) if raw else []
    vectors = {point.id: point.dense[0] for point in points if point.dense}
    rest = [subject for subject in subjects if subject.id not in vectors]
    if rest:
        found = await io.embed([passages(subject)[0] for subject in rest])
        vectors.update(zip((subject.id for subject in rest), found, strict=True))
    return vectors


def _as_understood(note: Note, data: dict[str, Any]) -> Note:
    found = understanding_from(data)
    return replace(note, keywords=found.keywords, tags=found.tags, context=found.context)


async def _neighbours(
    io: IO, settings: Settings, subject: Note, vector: Vector
) -> list[CandidateRef]:
    limit = settings.neighbours
    where = older_than(subject)
    by_words = io.sparse.query(sparse_text(subject))
    queries = [Query(vector, where, limit)]
    if by_words.indices:
        queries.append(Query(by_words, where, limit, corpus=within(subject.namespace)))
    dense, *sparse = await io.engine.query(queries)
    spare = max(2, limit // 3)
    wording = [scored.id for scored in (sparse[0] if sparse else [])][:spare]
    wanted = dict.fromkeys([*(scored.id for scored in dense[: limit - spare]), *wording])
    wanted |= dict.fromkeys(scored.id for scored in dense)
    before = await _turn_before(io, subject)
    chosen = dict.fromkeys([*before, *wanted])
    points = await io.engine.get(list(chosen)[:limit], vectors=True)
    ranked = sorted(((similarity(vector, point.dense), point) for point in points), key=_nearest)
    reverse = await _reverse_ranks(io, settings, subject, ranked)
    return [
        CandidateRef(
            id=point.id,
            version=point.payload["version"],
            digest=content_digest(point.payload["content"]),
            similarity=cosine,
            rank=rank,
            reverse_rank=reverse.get(point.id),
        )
        for rank, (cosine, point) in enumerate(ranked)
    ]


async def _turn_before(io: IO, subject: Note) -> list[str]:
    """The turn that the subject follows in its session, which need not resemble it."""
    if subject.session is None:
        return []
    where = [older_than(subject), match("session", subject.session)]
    if subject.sequence is not None:
        where.append(Range("sequence", gte=subject.sequence - 1, lte=subject.sequence - 1))
    points = await io.engine.scroll(
        both(*where), limit=1, order_by="created_at", descending=True, fields=("key",)
    )
    return [point.id for point in points]


def older_than(subject: Note) -> Condition:
    """Notes that were there before the subject: links lead from new to old (paper §3.2)."""
    return within(
        subject.namespace,
        _LINKABLE,
        Range("created_at", lt=micros(subject.created_at)),
        Not(ids([subject.id])),
    )


def _nearest(item: tuple[float, Point]) -> tuple[float, str]:
    return -item[0], item[1].id


async def _reverse_ranks(
    io: IO,
    settings: Settings,
    subject: Note,
    ranked: Sequence[tuple[float, Point]],
) -> dict[str, int]:
    """How many notes are nearer to each candidate than the subject is, when few are."""
    near = [(cosine, point) for cosine, point in ranked if point.dense]
    ranks: dict[str, int] = {}
    if not settings.analyst.needs_statistics or not near:
        return ranks
    older = older_than(subject)
    lists = await io.engine.query(
        [
            Query(point.dense[0], both(older, Not(ids([point.id]))), settings.neighbours)
            for _, point in near
        ]
    )
    for (cosine, point), nearest in zip(near, lists, strict=True):
        nearer = sum(scored.score > cosine for scored in nearest)
        if nearer < settings.neighbours:
            ranks[point.id] = nearer
    return ranks


def similarity(vector: Vector, passages: Sequence[Vector]) -> float:
    """The cosine to the best passage, in [-1, 1]; 0 where there is none."""
    return max((_cosine(vector, passage) for passage in passages), default=0.0)


def _cosine(a: Vector, b: Vector) -> float:
    norm = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0
