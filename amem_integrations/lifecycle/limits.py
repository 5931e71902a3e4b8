"""Limits of a namespace: what each note is worth keeping at hand, and archiving the excess.

Raw notes and values are never archived. Ours, not the paper's.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from amem_integrations.core.filters import Not, both, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note
from amem_integrations.core.status import AT_HAND, Tier
from amem_integrations.lifecycle.confidence import confidence, confirmed_at
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from amem_integrations.lifecycle.tenure import SETTLED
from amem_integrations.revisions.archive import archive
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load_all_notes


def idle_time(note: Note, now: datetime) -> timedelta:
    """Return how long ago a note was said, confirmed or used, whichever was last."""
    seen = max(confirmed_at(note), note.life.used_at or note.created_at, note.created_at)
    return max(timedelta(), now - seen)


def value(
    note: Note, links: int, now: datetime, policy: Policy = DEFAULT_POLICY
) -> tuple[float, str]:
    """Return .5 confidence + .3 (1 - 2^-uses) + .2 (1 - 2^-links), in [0, 1], and that in words.

    links: how many notes at hand the note is linked with.
    """
    trust, uses = confidence(note, now, policy), note.life.clean
    total = 0.5 * trust + 0.3 * (1 - 0.5**uses) + 0.2 * (1 - 0.5**links)
    why = f"value {total:.2f}: confidence {trust:.2f}, {uses} uses that helped, {links} links"
    return total, why


def choose_excess(
    notes: Sequence[Note],
    now: datetime,
    policy: Policy,
    max_notes: int | None,
    max_age: timedelta | None = None,
) -> dict[str, str]:
    """Return ids of notes to archive, with the reasons: past `max_age`, then of the least value.

    notes: all of a namespace, with the links that they made. Notes of the long tier have no age.
    """
    at_hand = {note.id: note for note in notes if note.status in AT_HAND}
    linked: dict[str, set[str]] = {id: set() for id in at_hand}
    for note in at_hand.values():
        for link in note.outgoing:
            if link.to in at_hand:
                linked[note.id].add(link.to)
                linked[link.to].add(note.id)
    found: dict[str, str] = {}
    rest: list[tuple[float, str, Note]] = []
    for note in filter(_is_movable, at_hand.values()):
        idle = idle_time(note, now)
        if max_age is not None and idle > max_age and note.tier is not Tier.LONG:
            why = f"neither said, confirmed nor used for {idle.days} days"
            found[note.id] = f"{why}; {max_age.days} days may pass"
        else:
            rest.append((*value(note, len(linked[note.id]), now, policy), note))
    if max_notes is not None:
        excess = max(0, len(at_hand) - len(found) - max_notes)
        rest.sort(key=lambda valued: (valued[0], valued[2].created_at, valued[2].id))
        for _, why, note in rest[:excess]:
            found[note.id] = f"{len(at_hand)} notes where {max_notes} have room; {why}"
    return found


def _is_movable(note: Note) -> bool:
    return note.status in SETTLED and note.value_json is None and note.parts is None


async def archive_excess(io: IO, namespace: Namespace, policy: Policy, analyst: str) -> int:
    """Archive what is beyond the policy's limits, oldest first; returns how many notes.

    These are the least believed short notes, then the notes of the least value in all.
    """
    now, count, most = io.now(), 0, policy.max_short_notes
    short = within(
        namespace, both(match("status", *SETTLED), Not(match("tier", Tier.MID, Tier.LONG)))
    )
    if most is not None and await io.engine.count(short) > most:
        notes = list(filter(_is_movable, await load_all_notes(io, short)))
        notes.sort(key=lambda note: (confidence(note, now, policy), note.created_at))
        excess = notes[: max(0, len(notes) - most)]
        reason = f"the least believed of more than {most} short notes"
        count += await archive(io, sorted(excess, key=_age), reason, analyst=analyst)
    most, shown = policy.max_notes, within(namespace, match("status", *AT_HAND))
    if most is not None and await io.engine.count(shown) > most:
        notes = await load_all_notes(io, shown)
        chosen = choose_excess(notes, now, policy, most)
        excess = [note for note in notes if note.id in chosen]
        reason = f"of the least value of more than {most} notes"
        count += await archive(io, sorted(excess, key=_age), reason, analyst=analyst)
    return count


def _age(note: Note) -> datetime:
    return note.created_at
