"""Following links: notes connected to the best hits compete with them for the places.

One query a hop, for ids only; of the linked notes, those that could win a place are read.
`search` calls this last.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from amem_integrations.core.analysis import KINDS_SEEN
from amem_integrations.core.filters import Any as AnyOf
from amem_integrations.core.filters import Condition, both, ids, match
from amem_integrations.core.io import IO, Query, Vector
from amem_integrations.core.note import Hit, Link, Note
from amem_integrations.recall.fusion import Ranked
from amem_integrations.recall.lists import certain
from amem_integrations.recall.options import RecallOptions
from amem_integrations.recall.scope import Scope
from amem_integrations.recall.signals import MOST_TOLD, told


async def expand(
    io: IO,
    scope: Scope,
    hits: Sequence[Hit],
    ranked: Mapping[str, Ranked],
    vector: Vector,
    *,
    k: int,
    hops: int,
    options: RecallOptions,
) -> list[Hit]:
    """`hits` and the notes that links connect to them, in either direction, best first.

    A link closes part of the gap between its two notes: it lifts the weaker one by what it
    lacks × link weight × damping, so a note that nothing else found enters with its source's
    score × these; of several ways to a note the best counts.
    A way is believed as its last note is, × the weights of its links. One that is believed less
    than `options.path` gives less in proportion, which "doubt" says; or nothing at all.
    A link of KINDS_SEEN lifts no note that the signals found: they know what it knows.
    Further hops start from the score that was reached.
    ranked: all that the signals found, since a linked note keeps its own score.
    k: how many places there are to be won.
    A hop costs one query, for at most `options.fan_out` ids whatever hangs on a hub, and the
    reading of the linked notes that could win a place, at most `k`.
    """
    notes = {hit.note.id: hit.note for hit in hits}
    whys = {hit.note.id: hit.why for hit in hits}
    own = {id: found.score for id, found in ranked.items()}
    own |= {hit.note.id: hit.score for hit in hits}
    bar = hits[k - 1].score if len(hits) >= k else -1.0
    most_told = fsum(weighed(MOST_TOLD, options).values())
    arrived: dict[str, _Way] = {}
    sources = {hit.note.id: hit.score for hit in hits[: options.followed]}
    weights = dict.fromkeys(sources, 1.0)
    for hop in range(hops):
        if not any(sources.values()):
            break
        linked = await _linked(io, scope, [notes[id] for id in sources], vector, options.fan_out)
        wanted = [id for id in linked if id not in notes]
        if hop == hops - 1:
            # Only what could win a place; before the last hop its links may matter too.
            most = max(sources.values()) * options.damping
            best = {
                id: most + (own.get(id, 0.0) + most_told) * (1 - options.damping) for id in wanted
            }
            hopeful = (id for id in wanted if best[id] >= bar)
            wanted = sorted(hopeful, key=best.__getitem__, reverse=True)[:k]
        for id, note in (await scope.load(io, wanted)).items():
            notes[id] = note
            found = ranked[id].why if id in ranked else {}
            whys[id] = {**found, **weighed(told(note), options)}
            own[id] = fsum(whys[id].values())
        reached: dict[str, float] = {}
        ways: dict[str, float] = {}
        for source, link in _edges(sources, notes):
            target = link.other(source)
            if target in ranked and link.kind in KINDS_SEEN:
                continue
            before = own.get(target, 0.0)
            lift = (sources[source] - before) * link.weight * options.damping
            weight = weights[source] * link.weight
            share = _believed(notes[target].confidence * weight, options)
            if lift * share > (arrived[target].gain if target in arrived else 0.0):
                arrived[target] = _Way(lift, share, link)
                reached[target] = before + lift * share
                ways[target] = weight
        sources, weights = reached, ways
    found = [
        _hit(note, whys[id], arrived.get(id))
        for id, note in notes.items()
        if id in ranked or id in arrived
    ]
    return sorted(found, key=place)


def weighed(signals: Mapping[str, float], options: RecallOptions) -> dict[str, float]:
    """The contributions of what is not nothing."""
    weights = options.weights
    return {name: weights[name] * value for name, value in signals.items() if weights[name] * value}


def place(hit: Hit) -> tuple[float, float, str]:
    """Sorts hits: best first, of equals the newest first."""
    return -hit.score, -hit.note.created_at.timestamp(), hit.note.id


async def _linked(
    io: IO, scope: Scope, sources: Sequence[Note], vector: Vector, fan_out: int
) -> list[str]:
    """Ids of the nearest notes in scope that links connect to one of `sources`, in order."""
    targets = {link.to: None for note in sources for link in note.outgoing}
    ways: tuple[Condition, ...] = (match("link_ids", *(note.id for note in sources)),)
    if targets:
        ways += (ids(list(targets)),)
    where = both(scope.where, AnyOf(ways))
    [found], _ = await certain(io, [Query(vector, where, fan_out + 1)])
    found.sort(key=lambda scored: (-scored.score, scored.id))
    return [scored.id for scored in found[:fan_out]]


def _edges(sources: Collection[str], notes: Mapping[str, Note]) -> Iterator[tuple[str, Link]]:
    """Each link between two known notes that leaves a source, in either direction."""
    for note in notes.values():
        for link in note.outgoing:
            if link.to in notes:
                if note.id in sources:
                    yield note.id, link
                if link.to in sources:
                    yield link.to, link


class _Way(NamedTuple):
    """What a link adds to a score, and the share of it that is believed."""

    lift: float
    share: float
    link: Link

    @property
    def gain(self) -> float:
        return self.lift * self.share


def _believed(confidence: float, options: RecallOptions) -> float:
    """The share of what a way gives that counts."""
    if confidence >= options.path:
        return 1.0
    return 0.0 if options.drop else confidence / options.path


def _hit(note: Note, own: Mapping[str, float], way: _Way | None) -> Hit:
    why = dict(own)
    if way is None:
        return Hit(note, fsum(why.values()), why)
    why["link"] = way.lift
    if way.share < 1:
        why["doubt"] = way.gain - way.lift
    return Hit(note, fsum(why.values()), why, way.link)
