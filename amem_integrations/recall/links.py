"""Links: notes linked with the best hits compete with them for the places. A hop is one query."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from amem_integrations.core.analysis import KINDS_SEEN
from amem_integrations.core.engine import Point, Query, Scored, Vector
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, both, ids, match
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.note import Link, Note
from amem_integrations.recall.fusion import Ranking, fuse, query_certain
from amem_integrations.recall.query import Scope
from amem_integrations.recall.signals import SIGNALS, Evidence, RecallOptions, score_texts


async def follow_links(
    io: IO,
    scope: Scope,
    hits: Sequence[Hit],
    ranking: Ranking,
    vector: Vector,
    *,
    k: int,
    hops: int,
    options: RecallOptions,
) -> list[Hit]:
    """Return `hits` and the notes that links connect with them, in either direction, best first.

    A link lifts the weaker of its two notes by the gap between their scores × link weight ×
    damping. A note that no signal found starts at 0. Of several paths to a note the best counts.
    The confidence of a path is that of its last note × the weights of its links. Below
    `options.min_path_confidence` the path gives proportionally less ("doubt"), or nothing with
    `options.drop_weak_paths`.
    A link of KINDS_SEEN lifts no note that the signals found, as it knows no more than they do.
    ranking: all that the signals found.
    k: the number of places.
    """
    notes = {hit.note.id: hit.note for hit in hits}
    whys = {hit.note.id: hit.why for hit in hits}
    ranked = {found.id: found for found in ranking.ranked}
    own = {id: found.score for id, found in ranked.items()}
    own |= {hit.note.id: hit.score for hit in hits}
    bar = hits[k - 1].score if len(hits) >= k else -1.0
    weights = options.weights
    most_by_text = fsum(weights[name] * (signal.most or 0.0) for name, signal in SIGNALS.items())
    paths: dict[str, _Path] = {}
    sources = {hit.note.id: hit.score for hit in hits[: options.follow_best]}
    trusts = dict.fromkeys(sources, 1.0)
    for hop in range(hops):
        if not any(sources.values()):
            break
        linked = await _query_linked(
            io, scope, [notes[id] for id in sources], vector, options.fan_out
        )
        wanted = {scored.id: scored.payload for scored in linked if scored.id not in notes}
        unseen = {id: payload for id, payload in wanted.items() if id not in ranked}
        for found in ranking.of_skipped(unseen, options):
            ranked[found.id], own[found.id] = found, found.score
        if hop == hops - 1:
            # Only what could win a place; before the last hop its links may matter too.
            most = max(sources.values()) * options.damping
            best = {
                id: most + (own.get(id, 0.0) + most_by_text) * (1 - options.damping)
                for id in wanted
            }
            hopeful = (id for id in wanted if best[id] >= bar)
            nearest = sorted(hopeful, key=best.__getitem__, reverse=True)[:k]
            wanted = {id: wanted[id] for id in nearest}
        added = scope.admit(Point(id, dict(payload)) for id, payload in wanted.items() if payload)
        added |= await scope.load(io, [id for id, payload in wanted.items() if not payload])
        notes |= added
        by_text = {
            found.id: found.why for found in fuse(score_texts(Evidence(notes=added)), weights)
        }
        for id in added:
            whys[id] = {**(ranked[id].why if id in ranked else {}), **by_text.get(id, {})}
            own[id] = fsum(whys[id].values())
        reached: dict[str, float] = {}
        reached_trusts: dict[str, float] = {}
        for source, link in _links_from(sources, notes):
            target = link.other(source)
            if target in ranked and link.kind in KINDS_SEEN:
                continue
            before = own.get(target, 0.0)
            lift = (sources[source] - before) * link.weight * options.damping
            trust = trusts[source] * link.weight
            share = _believed_share(notes[target].confidence * trust, options)
            if lift * share > (paths[target].gain if target in paths else 0.0):
                paths[target] = _Path(lift, share, link)
                reached[target] = before + lift * share
                reached_trusts[target] = trust
        sources, trusts = reached, reached_trusts
    found = [
        _hit(note, whys[id], paths.get(id))
        for id, note in notes.items()
        if id in ranked or id in paths
    ]
    return sorted(found, key=hit_order)


def hit_order(hit: Hit) -> tuple[float, float, str]:
    """Sorts hits: best first, of equals the newest first."""
    return -hit.score, -hit.note.created_at.timestamp(), hit.note.id


async def _query_linked(
    io: IO, scope: Scope, sources: Sequence[Note], vector: Vector, fan_out: int
) -> list[Scored]:
    """The nearest notes in scope that links connect to one of `sources`, in order."""
    targets = {link.to: None for note in sources for link in note.outgoing}
    ends: tuple[Condition, ...] = (match("link_ids", *(note.id for note in sources)),)
    if targets:
        ends += (ids(list(targets)),)
    where = both(scope.where, AnyOf(ends))
    [found], _ = await query_certain(io, [Query(vector, where, fan_out + 1, fields=None)])
    return sorted(found, key=lambda scored: (-scored.score, scored.id))[:fan_out]


def _links_from(sources: Collection[str], notes: Mapping[str, Note]) -> Iterator[tuple[str, Link]]:
    """Each link between two known notes that leaves a source, in either direction."""
    for note in notes.values():
        for link in note.outgoing:
            if link.to in notes:
                if note.id in sources:
                    yield note.id, link
                if link.to in sources:
                    yield link.to, link


class _Path(NamedTuple):
    """The lift of a link, and the share of it that counts."""

    lift: float
    share: float
    link: Link

    @property
    def gain(self) -> float:
        return self.lift * self.share


def _believed_share(confidence: float, options: RecallOptions) -> float:
    if confidence >= options.min_path_confidence:
        return 1.0
    return 0.0 if options.drop_weak_paths else confidence / options.min_path_confidence


def _hit(note: Note, own: Mapping[str, float], path: _Path | None) -> Hit:
    why = dict(own)
    if path is None:
        return Hit(note, fsum(why.values()), why)
    why["link"] = path.lift
    if path.share < 1:
        why["doubt"] = path.gain - path.lift
    return Hit(note, fsum(why.values()), why, path.link)
