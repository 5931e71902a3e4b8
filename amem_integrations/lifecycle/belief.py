"""Notes as they are to be believed now: what is computed of a stored note before it is shown.

Neither confidence nor the wear of links is stored, so whoever reads notes for somebody asks
here. Never for a note that is going to be written again.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from amem_integrations.core.note import Note
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.link_decay import faded
from amem_integrations.lifecycle.policy import Policy


def believed(note: Note, now: datetime, policy: Policy) -> Note:
    """The note with its confidence, and its links with the weights that they have now."""
    links = tuple(faded(link, now, policy) for link in note.links)
    return replace(note, confidence=confidence(note, now, policy), links=links)


def all_believed(notes: Sequence[Note], now: datetime, policy: Policy | None) -> list[Note]:
    """`believed` of each; as they are where there is no policy."""
    return list(notes) if policy is None else [believed(note, now, policy) for note in notes]


def backlinks_believed(note: Note, now: datetime, policy: Policy) -> Note:
    """A believed note to which links of other notes were added, with these as they are now."""
    incoming = (faded(link, now, policy) for link in note.incoming)
    return replace(note, links=(*note.outgoing, *incoming))
