"""Who says it: of notes that fit a question alike, those from a better source come first.

Pure. Whoever plants a note can make it fit a question better than any honest answer does; what
they cannot choose is how far their kind of source is believed. `search` calls this once, on the
notes it has read, where sources are looked after. Ours, not the paper's.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum
from typing import TypeAlias

from amem_integrations.core.note import Hit, Note
from amem_integrations.recall.links import place
from amem_integrations.recall.options import RecallOptions

Sources: TypeAlias = Callable[[Note], float]
"""How far the kind of source that a note came from is believed, in [0, 1]."""

_LONGEST_QUESTION = 2000
_ONLY_ASKS = re.compile(r"[^.!。！…]*[?？؟][\s\"')”’」）]*")


def trusted(hits: Sequence[Hit], sources: Sources, options: RecallOptions) -> list[Hit]:
    """The hits, best first, each with the share of its score that its source is believed.

    That is in relation to the best source among them, so that nothing changes where all are of
    one kind. A note that does nothing but ask states nothing to be believed, and keeps
    `options.asking`. What that takes from a score stands in `why` below 0: "source", "asking".
    """
    best = max((sources(hit.note) for hit in hits), default=0.0)
    if best <= 0:
        return list(hits)
    return sorted((_weighed(hit, sources(hit.note) / best, options) for hit in hits), key=place)


def only_asks(text: str) -> bool:
    """Whether a text is a question, or several, and nothing else."""
    return len(text) <= _LONGEST_QUESTION and _ONLY_ASKS.fullmatch(text) is not None


def _weighed(hit: Hit, share: float, options: RecallOptions) -> Hit:
    if hit.score <= 0:
        return hit
    why = dict(hit.why)
    left = hit.score * share
    if share < 1:
        why["source"] = left - hit.score
    if only_asks(hit.note.content) and options.asking < 1:
        why["asking"] = left * (options.asking - 1)
    return replace(hit, score=fsum(why.values()), why=why) if len(why) > len(hit.why) else hit
