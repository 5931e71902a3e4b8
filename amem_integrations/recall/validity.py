"""Validity: outdated notes, and notes of less trusted sources, lose a part of their score.

Pure; on the notes that a search has read. Whoever plants a note can make it fit a question
better than any honest answer does, but cannot choose how far its source is believed.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import TypeAlias

from amem_integrations.core.note import OPPOSING, Hit, Note
from amem_integrations.recall.links import hit_order
from amem_integrations.recall.signals import RecallOptions

Sources: TypeAlias = Callable[[Note], float]
"""How far the kind of source that a note came from is believed, in [0, 1]."""

# What an outdated note has at most of its successor's score: enough to be behind it.
_BEHIND = 0.99
_LONGEST_QUESTION = 2000
_ONLY_ASKS = re.compile(r"[^.!。！…]*[?？؟][\s\"')”’」）]*")


def weigh_sources(hits: Sequence[Hit], sources: Sources, options: RecallOptions) -> list[Hit]:
    """Multiply each score by the trust in the note's source; return the hits best first.

    Trust is relative to the best source among them, so that nothing changes if all are of one
    kind. A note that only asks states nothing, and keeps `options.asking` of its score. `why`
    has the losses, below 0: "source", "asking".
    """
    best = max((sources(hit.note) for hit in hits), default=0.0)
    if best <= 0:
        return list(hits)
    return sorted((_weigh(hit, sources(hit.note) / best, options) for hit in hits), key=hit_order)


def only_asks(text: str) -> bool:
    """Whether a text is a question, or several, and nothing else."""
    return len(text) <= _LONGEST_QUESTION and _ONLY_ASKS.fullmatch(text) is not None


def _weigh(hit: Hit, trust: float, options: RecallOptions) -> Hit:
    losses: dict[str, float] = {}
    left = hit.score * trust
    if trust < 1:
        losses["source"] = left - hit.score
    if only_asks(hit.note.content) and options.asking < 1:
        losses["asking"] = left * (options.asking - 1)
    return _reduce(hit, losses)


def demote_outdated(hits: Sequence[Hit], at: datetime, options: RecallOptions) -> list[Hit]:
    """Lower the scores of notes that were outdated at `at`; return the hits best first.

    However well it fits the question, a note comes after the one that took its place. `why` has
    the losses, below 0: "superseded", and "contested" while the contradiction is unresolved.
    """
    outdated = [(until, hit) for hit in hits if (until := hit.note.valid_until) and until <= at]
    if not outdated:
        return list(hits)
    by_id = {hit.note.id: hit for hit in hits}
    successors = _successors(hits)
    # A successor may be outdated itself, but not before its predecessor.
    for _, hit in sorted(outdated, key=lambda pair: pair[0], reverse=True):
        better = (by_id[id].score for id in successors.get(hit.note.id, ()))
        left = min([hit.score * options.superseded, *(score * _BEHIND for score in better)])
        losses = {"superseded": left - hit.score}
        if hit.note.contested_by:
            losses["contested"] = left * (options.contested - 1)
        by_id[hit.note.id] = _reduce(hit, losses)
    return sorted(by_id.values(), key=hit_order)


def _successors(hits: Iterable[Hit]) -> dict[str, list[str]]:
    """By the id of a note, the ids of the hits that contradict it."""
    found: dict[str, list[str]] = {}
    for hit in hits:
        for link in hit.note.outgoing:
            if link.kind in OPPOSING:
                found.setdefault(link.to, []).append(hit.note.id)
    return found


def _reduce(hit: Hit, losses: dict[str, float]) -> Hit:
    """The hit with `losses` in its score and in `why`; the same hit if it has nothing to lose."""
    if hit.score <= 0 or not losses:
        return hit
    why = {**hit.why, **losses}
    return replace(hit, score=fsum(why.values()), why=why)
