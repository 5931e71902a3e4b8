"""Turns of a conversation: split into ideas, stored, and formed where they are new.

Stores what `formation.segments` settles, has it formed, and says what it was. Adapters remember a
conversation by `remember_turns`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from amem_integrations.core.analysis import TurnKind
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import CORRECTS, REPEATS, Link, Note, Status, make_note
from amem_integrations.formation import queue
from amem_integrations.formation.pipeline import (
    FORMATIONS,
    Formation,
    form,
    have_formed,
    number_turns,
)
from amem_integrations.formation.segments import Segment, earlier_notes, pieces, segment_turn
from amem_integrations.memory.operations import add, contest_linked, require
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.wiring import NamespaceLike, Wiring
from amem_integrations.revisions import update
from amem_integrations.revisions.archive import restore
from amem_integrations.revisions.forget import forget, make_way
from amem_integrations.revisions.retract import retract
from amem_integrations.stores.read import existing, load, reload_notes, with_links
from amem_integrations.stores.write import FIRST_PASSAGES, embedded_points

Remember: TypeAlias = Literal["user", "both", "all"]
"""What of a conversation is remembered.

"both" is what users said and what the replies added: each turn is decided by `add_turn`. "user" is
the same without the replies. "all" makes each turn a note, whatever it says.
"""
REMEMBER: tuple[Remember, ...] = ("user", "both", "all")

_BY_LINK: Mapping[str, TurnKind] = {REPEATS: "repetition", CORRECTS: "correction"}


@dataclass(frozen=True, slots=True)
class Idea:
    """One idea of a turn, and what it was found to be.

    Attributes:
        kind: "new" is formed; "repetition" says what the note `of` says, and "nothing" is small
            talk, a bare question or a reply that says only what the assistant was told: both are
            skipped, and no search finds them; "correction" is formed and leads to the note `of`
            that it contradicts or replaces, by a link of the kind "corrects".
        note: what holds it.
        of: the id of the note that it repeats or corrects.
        reason: why it was found to be that.

    Examples:
        >>> [first] = memory.add_turn("The board meets on Monday at ten.", session="s1").ideas
        >>> [idea] = memory.add_turn("Actually it is Tuesday, not Monday.", session="s1").ideas
        >>> idea.kind, idea.of == first.note.id, [link.kind for link in idea.note.outgoing]
        ('correction', True, ['corrects'])
    """

    kind: TurnKind
    note: Note
    of: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn was split into: its ideas, in order; mostly one.

    Attributes:
        ideas: each with its note and what it was found to be.

    Examples:
        >>> result = memory.add_turn("The board meets on Monday at ten.", session="s1")
        >>> [idea.kind for idea in result.ideas], result.notes[0].content
        (['new'], 'The board meets on Monday at ten.')
    """

    ideas: tuple[Idea, ...]

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes of its ideas, in order."""
        return tuple(idea.note for idea in self.ideas)

    @property
    def summary(self) -> str:
        """Why nothing of it was formed, in words; "" if something was."""
        kinds = {idea.kind for idea in self.ideas}
        if kinds == {"repetition"}:
            known = ", ".join(dict.fromkeys(idea.of for idea in self.ideas if idea.of))
            return f"Known already, as memory {known}"
        return "" if kinds - {"repetition", "nothing"} else "There is nothing in it to remember."


async def add_turn(
    wiring: Wiring,
    io: IO,
    item: Mapping[str, Any],
    namespace: NamespaceLike,
    formation: Formation | None,
) -> TurnResult:
    """Store a turn idea by idea, then form what of it is new, as `formation` says."""
    formation = formation or wiring.formation
    check_choice("formation", formation, FORMATIONS)
    turn = make_note(**item, namespace=namespace, now=io.now())
    stored = await earlier_notes(io, turn)
    if stored and _is_all_of(stored, turn):
        wiring.settings.ledger.count("turn.again")
        ideas = [await _known_idea(wiring, io, note, turn) for note in stored]
    else:
        for note in stored:
            forgotten = await forget(io, note.id, note.namespace, wiring.analyst_name)
            await have_formed(wiring, io, formation, unformed={note.namespace: forgotten.unformed})
        ideas = await _store_turn(wiring, io, turn, formation)
        await have_formed(wiring, io, formation, (idea.note for idea in ideas))
        if formation == "inline" and wiring.upkeep is not None:
            await wiring.upkeep(io, turn.namespace, len(ideas))
    fresh = await reload_notes(io, [idea.note for idea in ideas])
    return TurnResult(
        tuple(replace(idea, note=note) for idea, note in zip(ideas, fresh, strict=True))
    )


async def remember_turns(
    wiring: Wiring,
    io: IO,
    items: Iterable[Mapping[str, Any]],
    namespace: NamespaceLike,
    formation: Formation | None = None,
    remember: Remember = "both",
) -> list[Note]:
    """Store turns of a conversation, in order; return their notes, skipped turns among them.

    items: as for `operations.add`; a reply is one with the source "assistant". Safe to repeat
    where each has a key.
    """
    if remember == "all":
        return await add(wiring, io, items, namespace, formation)
    notes: list[Note] = []
    for item in items:
        if remember == "both" or item.get("source") != "assistant":
            notes += (await add_turn(wiring, io, item, namespace, formation)).notes
    return notes


async def form_note(wiring: Wiring, io: IO, note_id: str, namespace: Namespace) -> Note:
    """Form a note now, though it was kept plain, given up, or not due yet."""
    stored = await require(io, note_id, namespace)
    if stored.status in (Status.RAW, Status.PLAIN, Status.SKIPPED, Status.PARKED):
        fields = {"status": str(Status.RAW), "attempts": 0, "retry_at": None}
        expect = {"status": str(stored.status), "version": stored.version}
        await io.engine.patch(stored.id, {**fields, **queue.lease(io)}, expect=expect)
        stored = await require(io, stored.id, stored.namespace)
    if stored.status is Status.RAW:
        await form(wiring, io, [stored])
    (note,) = await with_links(io, [await require(io, stored.id, stored.namespace)])
    return note


async def get_turn(io: IO, note_id: str, namespace: Namespace) -> list[Note]:
    """The notes of the turn that a note is of, in its order."""
    stored = await require(io, note_id, namespace)
    if stored.source_id is None:
        return await with_links(io, [stored])
    return await with_links(io, await pieces(io, stored.source_id, stored.namespace))


async def _store_turn(wiring: Wiring, io: IO, turn: Note, formation: Formation) -> list[Idea]:
    """The ideas of a turn that was not stored before, their notes stored in one operation."""
    # Who does not wait for forming does not wait for a model here either.
    found = await segment_turn(io, wiring.settings, turn, ask=formation == "inline")
    [turn] = await number_turns(io, [turn])
    notes = [replace(segment.note, sequence=turn.sequence) for segment in found.segments]
    points = await embedded_points(io, notes, first=FIRST_PASSAGES, known=found.vectors)
    for point in points:
        if formation == "inline" and point.payload["status"] == Status.RAW:
            point.payload.update(queue.lease(io))
    taken = await io.engine.insert(points)
    _, unformed = await make_way(io, points, taken, wiring.analyst_name)
    await have_formed(wiring, io, formation, unformed=unformed)
    targets = {link.to for note in notes for link in note.outgoing}
    for gone in targets - await existing(io, sorted(targets), turn.namespace):
        # Forgotten since it was found; what repeats it is now the first to say it.
        await retract(io, gone, turn.namespace, wiring.analyst_name)
    stored = await load(io, (note.id for note in notes), turn.namespace)
    for note in stored.values():
        await contest_linked(wiring, io, note)
    ideas = [
        _idea_of(segment, stored.get(segment.note.id, segment.note)) for segment in found.segments
    ]
    wiring.settings.ledger.count("turn.split", len(ideas) > 1)
    for idea in ideas:
        wiring.settings.ledger.count(f"turn.{idea.kind}")
    return ideas


def _idea_of(segment: Segment, note: Note) -> Idea:
    if note.outgoing or not segment.note.outgoing:
        return Idea(segment.verdict.kind, note, _target(note), segment.verdict.reason)
    return Idea("new", note, None, "what it is about is gone")


async def _known_idea(wiring: Wiring, io: IO, stored: Note, turn: Note) -> Idea:
    """What a note of a turn is that comes again, perhaps with other metadata."""
    stored = await restore(io, stored)
    # It may be what a process was at when it died.
    await contest_linked(wiring, io, stored)
    if turn.metadata_json not in ("{}", stored.metadata_json):
        stored, _ = await update.update(
            io,
            stored,
            wiring.analyst_name,
            content=stored.content,
            metadata_json=turn.metadata_json,
        )
    link = _link(stored)
    if link is not None:
        return Idea(_BY_LINK[link.kind], stored, link.to, link.reason)
    kind = "nothing" if stored.status is Status.SKIPPED else "new"
    return Idea(kind, stored, None, "came before")


def _link(note: Note) -> Link | None:
    return next((link for link in note.outgoing if link.kind in _BY_LINK), None)


def _target(note: Note) -> str | None:
    link = _link(note)
    return None if link is None else link.to


def _is_all_of(stored: Sequence[Note], turn: Note) -> bool:
    """Whether the notes hold all that the turn says, one after another."""
    end = 0
    for note in stored:
        start = note.position or 0
        if note.source_id is None:
            return len(stored) == 1 and note.content == turn.content
        text = turn.content[start : start + len(note.content)]
        if start < end or text != note.content or turn.content[end:start].strip():
            return False
        end = start + len(note.content)
    return not turn.content[end:].strip()
