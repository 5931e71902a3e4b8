"""Contradiction: what becomes of a note when another says otherwise. Both are kept.

Pure. What a caller says is settled by that. What an analyst says, or `add_turn` finds, is
open until somebody settles it (`lifecycle.audit`). Ours; the paper knows no contradictions.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from amem_integrations.core.note import CONTRADICTS, CORRECTS, Note, Revision
from amem_integrations.revisions.revise import revised

SUPERSEDED, CONTESTED = "superseded", "contested"
"""The revisions of a note that another contradicts: a caller said so, or anybody else."""

CONTRADICTING = (CONTRADICTS, CORRECTS)


def holds_from(note: Note) -> datetime:
    """From when on what it says is taken to hold."""
    return note.occurred_at or note.created_at


def contradicted(
    old: Note,
    by: Note,
    now: datetime,
    analyst: str,
    *,
    settled: bool,
    sources: Collection[str] = (),
    reason: str = "",
) -> Note:
    """`old` as of which `by` says otherwise: it held until then, or until it ceased before.

    settled: by the caller; else it is contested by that note from now on. sources: the notes that
    were read for it.
    """
    until = holds_from(by)
    after = replace(
        old,
        valid_until=until if old.valid_until is None else min(until, old.valid_until),
        contested_by=old.contested_by
        if settled or by.id in old.contested_by
        else (*old.contested_by, by.id),
    )
    kind = SUPERSEDED if settled else CONTESTED
    read = tuple(id for id in sources if id != old.id)
    return revised(old, after, kind, by.id, now, analyst, read, reason)


def contradictions(chain: Sequence[Revision]) -> list[str]:
    """The ids of the notes that contradict a note, as its revisions say."""
    causes = (each.cause for each in chain if each.kind in (SUPERSEDED, CONTESTED))
    return list(dict.fromkeys(causes))
