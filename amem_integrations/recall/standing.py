"""Whether what a note says holds: notes that others contradict make way for those that stand.

Pure. A note that ceased to hold still answers what was asked of an earlier time, and is found
where nothing better is. `search` calls this once, on the notes it has read.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum

from amem_integrations.note import Hit
from amem_integrations.recall.expand import place
from amem_integrations.recall.options import RecallOptions


def standing(hits: Sequence[Hit], at: datetime, options: RecallOptions) -> list[Hit]:
    """The hits, best first, those whose notes did not hold any more at `at` with lower scores.

    What that takes from a score stands in `why` below 0: "superseded" what it takes that the
    note ceased to hold, "contested" what it takes that nobody settled yet whether it did.
    """
    if all(hit.note.valid_until is None for hit in hits):
        return list(hits)
    return sorted((_stood(hit, at, options) for hit in hits), key=place)


def _stood(hit: Hit, at: datetime, options: RecallOptions) -> Hit:
    until = hit.note.valid_until
    if until is None or until > at or hit.score <= 0:
        return hit
    left = hit.score * options.superseded
    why = {**hit.why, "superseded": left - hit.score}
    if hit.note.contested_by:
        why["contested"] = left * (options.contested - 1)
    return replace(hit, score=fsum(why.values()), why=why)
