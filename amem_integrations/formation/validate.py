"""Model output is a proposal: what of it is applied, and what is dropped and why.

Pure functions. Ids that were not offered, self links, repetitions and overlong lists are
dropped and counted; content cannot be touched because no proposal can name it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from amem_integrations.core.analysis import Evolution, LinkProposal, Understanding
from amem_integrations.core.note import (
    MAX_CONTEXT_CHARS,
    MAX_KEYWORDS,
    MAX_TAGS,
    Link,
    Note,
    clean_terms,
    clean_text,
)

MAX_LINKS = 16
MAX_REASON_CHARS = 400

Tally = Counter[str]


def understood(note: Note, proposal: Understanding) -> Note:
    """The note with what was understood of it."""
    return note.evolve(
        keywords=clean_terms(proposal.keywords, MAX_KEYWORDS),
        tags=clean_terms(proposal.tags, MAX_TAGS),
        context=clean_text(proposal.context, MAX_CONTEXT_CHARS),
    )


def accepted_links(
    note: Note,
    proposals: Sequence[LinkProposal],
    offered: Collection[str],
    present: Collection[str],
    now: datetime,
    tally: Tally,
    likeness: Mapping[str, float] | None = None,
) -> tuple[Link, ...]:
    """Links to candidates that were offered and still exist, at most MAX_LINKS.

    likeness: by target, a share that a link's weight begins with; the whole where none is given.
    """
    links: dict[str, Link] = {}
    shares = likeness or {}
    for proposal in proposals:
        reason = _refusal(proposal.to, note, offered, present)
        if reason is None and proposal.to in links:
            reason = "repeated"
        if reason is None and len(links) == MAX_LINKS:
            reason = "too_many"
        if reason is not None:
            tally[f"dropped.link.{reason}"] += 1
            continue
        links[proposal.to] = Link(
            source=note.id,
            to=proposal.to,
            reason=clean_text(proposal.reason, MAX_REASON_CHARS),
            kind=clean_text(proposal.kind, 40) or "related",
            # Four places: the engine does not keep every digit of a float.
            weight=round(min(1.0, max(0.01, proposal.weight * shares.get(proposal.to, 1.0))), 4),
            created_at=now,
        )
    return tuple(links.values())


def accepted_evolutions(
    note: Note,
    proposals: Sequence[Evolution],
    offered: Collection[str],
    present: Collection[str],
    tally: Tally,
) -> dict[str, Evolution]:
    """Evolutions of candidates that were offered and still exist, one each."""
    accepted: dict[str, Evolution] = {}
    for proposal in proposals:
        reason = _refusal(proposal.note_id, note, offered, present)
        if reason is None and proposal.note_id in accepted:
            reason = "repeated"
        if reason is not None:
            tally[f"dropped.evolution.{reason}"] += 1
            continue
        accepted[proposal.note_id] = proposal
    return accepted


def evolved(neighbour: Note, proposal: Evolution) -> Note:
    """The neighbour as the proposal has it; an empty field keeps what was there."""
    keywords = clean_terms(proposal.keywords or (), MAX_KEYWORDS) or neighbour.keywords
    tags = clean_terms(proposal.tags or (), MAX_TAGS) or neighbour.tags
    context = clean_text(proposal.context or "", MAX_CONTEXT_CHARS) or neighbour.context
    return neighbour.evolve(keywords=keywords, tags=tags, context=context)


def merged(neighbour: Note, proposal: Evolution) -> Note:
    """The neighbour with the proposed terms added, for a proposal made of an older version.

    What the others wrote meanwhile stays: no term is removed and the context is theirs.
    """
    return neighbour.evolve(
        keywords=clean_terms((*neighbour.keywords, *(proposal.keywords or ())), MAX_KEYWORDS),
        tags=clean_terms((*neighbour.tags, *(proposal.tags or ())), MAX_TAGS),
    )


def _refusal(
    target: str, note: Note, offered: Collection[str], present: Collection[str]
) -> str | None:
    if target == note.id:
        return "self"
    if target not in offered:
        return "not_offered"
    if target not in present:
        return "gone"
    return None
