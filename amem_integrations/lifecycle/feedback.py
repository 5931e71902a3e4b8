"""Feedback: reports of what came of notes in a prompt, and counting them.

A report is stored by itself; the notes change when `maintain` counts it. Each note says up to which
report its counts go, so that counting again, or at once with another, counts nothing twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from amem_integrations.analysts import lexicon
from amem_integrations.analysts.words import keys
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Link, Note, check_text
from amem_integrations.core.status import Life
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import life_of, occasion, used, used_link
from amem_integrations.revisions.change import ROUNDS
from amem_integrations.stores.codec import as_read, life_fields, link_json, micros, within
from amem_integrations.stores.read import existing, load
from amem_integrations.stores.uses import OUTCOMES, Outcome, Use, new_id, save_use

MOST_NOTES = 100
SHARED = 2
"""How many rare stems a reply shares with a note that it used."""
_MAX_CHARS = 20_000
_MAX_EMBEDDED = 4000
_BATCH = 128
_STOP = frozenset(word for words in lexicon.STOP.values() for word in words)


# -- reports ---------------------------------------------------------------------------------


async def feedback(
    io: IO,
    namespace: Namespace,
    notes: Sequence[str],
    outcome: Outcome = "used",
    *,
    ways: Sequence[tuple[str, str]] = (),
    session: str | None = None,
    query: str | None = None,
) -> int:
    """Store a report of use, unless none of its notes exist; returns how many do.

    notes, outcome, ways, session: as in `stores.uses.Use`. query: the question, as text.
    Raises InvalidInputError for an unknown outcome, more than MOST_NOTES notes, or a session or
    query that is no text.
    """
    if outcome not in OUTCOMES:
        wanted = " or ".join(map(repr, OUTCOMES))
        raise InvalidInputError(f"outcome is {wanted}; got {outcome!r}.")
    if len(notes) > MOST_NOTES:
        raise InvalidInputError(
            f"A report is about the notes of one prompt, at most {MOST_NOTES}; got {len(notes)}."
        )
    if session is not None:
        check_text("session", session)
    if query is not None:
        _check_is_text("query", query)
    ends = {end for way in ways for end in way}
    present = await existing(io, sorted({*notes, *ends}), namespace)
    known = tuple(id for id in dict.fromkeys(notes) if id in present)
    if not known:
        return 0
    asked = (query or "").strip()[:_MAX_EMBEDDED]
    use = Use(
        id=new_id(),
        at=io.now(),
        notes=known,
        outcome=outcome,
        ways=tuple(way for way in ways if present.issuperset(way)),
        session=session,
        query=await io.embed_query(asked) if asked else None,
    )
    await save_use(io, namespace, use)
    return len(known)


async def feedback_from_reply(
    io: IO,
    namespace: Namespace,
    hits: Sequence[Hit],
    reply: str,
    query: str | None = None,
    session: str | None = None,
) -> list[Hit]:
    """Report those of a prompt's hits that the reply made use of; returns them.

    Raises InvalidInputError for a reply or query that is no text.
    """
    _check_is_text("reply", reply)
    if query is not None:
        _check_is_text("query", query)
    hits = used_in(reply, hits, query)
    if hits:
        notes = [hit.note.id for hit in hits]
        await feedback(io, namespace, notes, ways=ways_of(hits), session=session, query=query)
    return hits


def ways_of(hits: Iterable[Hit]) -> tuple[tuple[str, str], ...]:
    """Return the links by which hits were found."""
    return tuple((hit.via.source, hit.via.to) for hit in hits if hit.via is not None)


def used_in(reply: str, hits: Sequence[Hit], query: str | None = None) -> list[Hit]:
    """Return those of the hits of one prompt that the reply made use of.

    A reply used a note if it has SHARED or more of its rare stems: content words that at most a
    third of the hits have, and that the query did not bring up.
    """
    replied, asked = _stems(reply), _stems(query or "")
    stems = [_stems(hit.note.content) - asked for hit in hits]
    most = max(1, len(stems) // 3)
    return [
        hit
        for hit, own in zip(hits, stems, strict=True)
        if sum(sum(stem in other for other in stems) <= most for stem in own & replied) >= SHARED
    ]


def _check_is_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be text; got {type(text).__name__}.")


def _stems(text: str) -> frozenset[str]:
    return keys(text[:_MAX_CHARS]) - _STOP


# -- counting --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Occasions:
    """Names the occasions of a namespace; session: the only one that its notes are of, if so."""

    namespace: Namespace
    session: str | None = None

    @classmethod
    async def of(cls, io: IO, namespace: Namespace) -> "Occasions":
        sessions = await io.engine.facet("session", within(namespace), limit=2)
        return cls(namespace, next(iter(sessions)) if len(sessions) == 1 else None)

    def life_of(self, note: Note) -> Life:
        is_only = note.session is not None and note.session == self.session
        return life_of(note, note.sequence if is_only else None)

    def first_of(self, note: Note) -> str:
        """Return the occasion on which a note was said."""
        return self.life_of(replace(note, life=Life())).occasions[0]

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


async def count_uses(
    io: IO, namespace: Namespace, uses: Sequence[Use], occasions: Occasions, policy: Policy
) -> int:
    """Count the uncounted among `uses`, oldest first; returns how many links moved."""
    by_note: dict[str, list[Use]] = {}
    for use in uses:
        for id in use.concerns:
            by_note.setdefault(id, []).append(use)
    names = {use.id: await occasions.name(io, use) for use in uses}
    links = 0
    wanted = sorted(by_note)
    for start in range(0, len(wanted), _BATCH):
        left = wanted[start : start + _BATCH]
        for _ in range(ROUNDS):
            # Read anew each time: a note that was changed meanwhile was not written.
            notes = await load(io, left, namespace)
            new = {id: _uncounted(note, by_note[id]) for id, note in notes.items()}
            left = [id for id in new if new[id]]
            if not left:
                break
            for id in left:
                links += await _count(io, notes[id], new[id], names, occasions, policy)
                # Let other tasks of the event loop run.
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
    """Write what the uses make of a note and its links; returns how many links moved."""
    life = occasions.life_of(note)
    links = list(note.outgoing)
    for use in uses:
        if note.id in use.notes:
            life = used(life, use.outcome, names[use.id], use.at, policy)
        links = [
            used_link(link, use.outcome, use.at, policy) if _is_used(link, use) else link
            for link in links
        ]
    life = replace(life, counted=micros(uses[-1].at))
    fields, expect = life_fields(life), {"counted": as_read(note)["counted"]}
    moved = sum(old != new for old, new in zip(note.outgoing, links, strict=True))
    if moved:
        # Not a change of the note itself: no version, no revision.
        fields["links"] = [link_json(link) for link in links]
        expect["version"] = note.version
    await io.engine.patch(note.id, fields, expect=expect)
    return moved


def _is_used(link: Link, use: Use) -> bool:
    """Return whether both its notes were used, or the one that it led to."""
    together = link.source in use.notes and link.to in use.notes
    return together or (link.source, link.to) in use.ways


async def write_life(io: IO, note: Note, life: Life) -> None:
    """Write a life that changed by something else than a report of use."""
    # The least step on: enough to be told from what was read, and no report stands at it.
    life = replace(life, counted=note.life.counted + 1)
    expect = {"counted": as_read(note)["counted"]}
    await io.engine.patch(note.id, life_fields(life), expect=expect)
