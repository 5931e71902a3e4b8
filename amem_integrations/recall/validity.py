"""Whether what a note says holds: notes that others contradict make way for those that stand.

Pure. A note that ceased to hold still answers what was asked of an earlier time, and is found
where nothing better is. `search` calls this once, on the notes it has read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum

from amem_integrations.core.note import CONTRADICTS, CORRECTS, Hit
from amem_integrations.recall.links import place
from amem_integrations.recall.options import RecallOptions

# What is left of the score of the note that took its place, at most: enough to be behind it.
_BEHIND = 0.99


def standing(hits: Sequence[Hit], at: datetime, options: RecallOptions) -> list[Hit]:
    """The hits, best first, those whose notes did not hold any more at `at` with lower scores.

    However well it fits the question, a note comes after the one that took its place.
    What that takes from a score stands in `why` below 0: "superseded" what it takes that the
    note ceased to hold, "contested" what it takes that nobody settled yet whether it did.
    """
    over = [(until, hit) for hit in hits if (until := hit.note.valid_until) and until <= at]
    if not over:
        return list(hits)
    now = {hit.note.id: hit for hit in hits}
    successors = _successors(hits)
    # What took the place of others may be over itself, but not before them.
    for _, hit in sorted(over, key=lambda each: each[0], reverse=True):
        better = (now[id].score for id in successors.get(hit.note.id, ()))
        now[hit.note.id] = _stood(hit, max(better, default=None), options)
    return sorted(now.values(), key=place)


def _successors(hits: Iterable[Hit]) -> dict[str, list[str]]:
    """By the id of a note, the ids of those among the hits that contradict it."""
    found: dict[str, list[str]] = {}
    for hit in hits:
        for link in hit.note.outgoing:
            if link.kind in (CONTRADICTS, CORRECTS):
                found.setdefault(link.to, []).append(hit.note.id)
    return found


def _stood(hit: Hit, successor: float | None, options: RecallOptions) -> Hit:
    if hit.score <= 0:
        return hit
    left = hit.score * options.superseded
    if successor is not None:
        left = min(left, successor * _BEHIND)
    why = {**hit.why, "superseded": left - hit.score}
    if hit.note.contested_by:
        why["contested"] = left * (options.contested - 1)
    return replace(hit, score=fsum(why.values()), why=why)
