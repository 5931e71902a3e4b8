"""Counting uses: reports of use become figures of notes and weights of links.

Each note says up to which report its figures go, and is written only where that is still so.
Counting again, or two who count at once, thus count nothing twice. `maintain` calls this.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link, Note
from amem_integrations.core.status import Life
from amem_integrations.lifecycle.link_decay import moved
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tiers import occasion, seeded, used
from amem_integrations.stores.codec import as_read, life_fields, link_json, micros, within
from amem_integrations.stores.read import load
from amem_integrations.stores.uses import Use

_ROUNDS = 8
_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Occasions:
    """Names the occasions of a namespace. session: the only one that its notes are of, if so."""

    namespace: Namespace
    session: str | None = None

    @classmethod
    async def of(cls, io: IO, namespace: Namespace) -> "Occasions":
        sessions = await io.engine.facet("session", within(namespace), limit=2)
        return cls(namespace, next(iter(sessions)) if len(sessions) == 1 else None)

    def seeded(self, note: Note) -> Life:
        return seeded(note, note.sequence if self._is_the_one(note.session) else None)

    def said(self, note: Note) -> str:
        """When a note came up first."""
        return self.seeded(replace(note, life=Life())).occasions[0]

    async def name(self, io: IO, use: Use) -> str:
        if self.session is None or use.session not in (None, self.session):
            return occasion(use.session, use.at)
        newest = await io.engine.scroll(
            within(self.namespace),
            limit=1,
            order_by="created_at",
            descending=True,
            start_from=micros(use.at),
            fields=("sequence",),
        )
        turn = newest[0].payload.get("sequence") if newest else None
        return occasion(self.session, use.at, turn)

    def _is_the_one(self, session: str | None) -> bool:
        return session is not None and session == self.session


async def count_uses(
    io: IO, namespace: Namespace, uses: Sequence[Use], occasions: Occasions, policy: Policy
) -> int:
    """Count those of `uses`, oldest first, that are not counted yet; how many links that moved."""
    by_note: dict[str, list[Use]] = {}
    for use in uses:
        for id in use.concerns:
            by_note.setdefault(id, []).append(use)
    names = {use.id: await occasions.name(io, use) for use in uses}
    links = 0
    wanted = sorted(by_note)
    for start in range(0, len(wanted), _AT_ONCE):
        left = wanted[start : start + _AT_ONCE]
        for _ in range(_ROUNDS):
            # Read anew each time: a note that was changed meanwhile was not written.
            held = await load(io, left, namespace)
            left = [id for id, note in held.items() if _uncounted(note, by_note[id])]
            if not left:
                break
            for id in left:
                new = _uncounted(held[id], by_note[id])
                links += await _count(io, held[id], new, names, occasions, policy)
                # Whoever else is on the loop has a turn.
                await io.sleep(0)
    return links


def _uncounted(note: Note, uses: Sequence[Use]) -> list[Use]:
    return [use for use in uses if micros(use.at) > note.life.counted]


async def _count(
    io: IO,
    note: Note,
    uses: Sequence[Use],
    names: dict[str, str],
    occasions: Occasions,
    policy: Policy,
) -> int:
    """Write what the uses make of a note and its links; how many links that moved."""
    life = occasions.seeded(note)
    links = list(note.outgoing)
    for use in uses:
        if note.id in use.notes:
            life = used(life, use.outcome, names[use.id], use.at, policy)
        links = [
            moved(link, use.outcome, use.at, policy) if _took_part(link, use) else link
            for link in links
        ]
    life = replace(life, counted=micros(uses[-1].at))
    fields, expect = life_fields(life), {"counted": as_read(note)["counted"]}
    changed = sum(old != new for old, new in zip(note.outgoing, links, strict=True))
    if changed:
        # Not a change of the note itself: no version, no revision.
        fields["links"] = [link_json(link) for link in links]
        expect["version"] = note.version
    await io.engine.patch(note.id, fields, expect=expect)
    return changed


def _took_part(link: Link, use: Use) -> bool:
    """Whether both its notes were used, or the one that it led to."""
    together = link.source in use.notes and link.to in use.notes
    return together or (link.source, link.to) in use.ways


async def write_life(io: IO, note: Note, life: Life) -> None:
    """Put down figures that come of something else than a report of use."""
    # The least step on: enough to be told from what was read, and no report stands at it.
    life = replace(life, counted=note.life.counted + 1)
    expect = {"counted": as_read(note)["counted"]}
    await io.engine.patch(note.id, life_fields(life), expect=expect)
