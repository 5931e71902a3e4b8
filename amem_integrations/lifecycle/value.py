"""What a note is worth keeping at hand for, with the reason: one readable function.

Pure. Ours, not the paper's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from amem_integrations.core.note import Note
from amem_integrations.lifecycle.confidence import confidence, confirmed_at
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy

SHARES: Mapping[str, float] = {"confidence": 0.5, "uses": 0.3, "links": 0.2}
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Worth:
    """value: in [0, 1]. confidence: in it. uses: that helped. links: to and from notes at hand."""

    value: float
    confidence: float
    uses: int
    links: int

    def __str__(self) -> str:
        return (
            f"worth {self.value:.2f}: confidence {self.confidence:.2f}, "
            f"{self.uses} uses that helped, {self.links} links"
        )


def worth(note: Note, links: int, now: datetime, policy: Policy = DEFAULT_POLICY) -> Worth:
    """.5 confidence + .3 (1 - 2^-uses) + .2 (1 - 2^-links): the first of each count the most."""
    believed = confidence(note, now, policy)
    uses = note.life.clean
    value = (
        SHARES["confidence"] * believed
        + SHARES["uses"] * (1 - 0.5**uses)
        + SHARES["links"] * (1 - 0.5**links)
    )
    return Worth(value, believed, uses, links)


def idle(note: Note, now: datetime) -> timedelta:
    """How long ago it was said, confirmed or used, whichever was last."""
    seen = max(confirmed_at(note), note.life.used_at or note.created_at, note.created_at)
    return max(timedelta(), now - seen)


def days(span: timedelta) -> int:
    return span // _DAY
