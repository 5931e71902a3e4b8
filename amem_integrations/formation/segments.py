"""What each idea of a turn is, settled before any of it is stored.

Statistics decide; where they are in doubt a chat model may be asked once, and its answer is a
proposal like any other. Nothing is written here: `memory.turns` stores what comes out.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from amem_integrations.analysts import sentences, turns, words
from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.turns import Verdict
from amem_integrations.core.analysis import Candidate, IdeaProposal, Turn
from amem_integrations.core.engine import Vector
from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import CORRECTS, REPEATS, Link, Note, Status, note_id
from amem_integrations.core.usage import Ledger
from amem_integrations.errors import AnalysisError, StoreError
from amem_integrations.formation.candidates import (
    background,
    by_similarity,
    search,
    similarity,
    turn_before,
)
from amem_integrations.formation.state import Settings
from amem_integrations.formation.steps import metered
from amem_integrations.llms.failures import is_interrupt
from amem_integrations.stores.codec import note_from, within
from amem_integrations.stores.read import load
from amem_integrations.stores.usage import save_usage
from amem_integrations.stores.write import FIRST_PASSAGES, passages, vectors_of

_LOG = logging.getLogger(__name__)
_SAVED_AFTER = 32
# A model does not talk away what statistics see: what says more than this is not nothing, and
# what has less in common with a note does not repeat it.
MOST_OF_NOTHING, LEAST_SAID, LEAST_NEAR = 2.0, 0.3, 0.5
_NEAREST, _BY_WORDS = 6, 4
# A model sees so many of them.
_OFFERED = 5
_MOST_PIECES = 1_000
# The kind and the weight of the link that a verdict gives.
_LINKS = {"repetition": (REPEATS, 1.0), "correction": (CORRECTS, 0.9)}


@dataclass(frozen=True, slots=True)
class Segment:
    """One idea of a turn, as a note not yet stored, and what it was found to be."""

    note: Note
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The segments of a turn. vectors: by the texts that they stand for."""

    segments: tuple[Segment, ...]
    vectors: Mapping[str, Vector]


async def segment_turn(io: IO, settings: Settings, turn: Note, *, ask: bool) -> Segmentation:
    """The ideas of a turn as notes, with their links, none of them stored.

    turn: a raw note of all of it. ask: whether a model may be asked.
    """
    older = await background(io, turn)
    point = await turn_before(io, turn, within(turn.namespace))
    speakers = {note.speaker for note in (turn, *older) if note.speaker}
    around = _Context(
        None if point is None else note_from(point),
        Corpus(note.content for note in older),
        frozenset(key for speaker in speakers for key in words.keys(speaker)),
    )
    parts = sentences.split_sentences(turn.content, around.corpus, around.names)
    starts = sentences.idea_starts(parts)
    ranges = list(zip(starts, [*starts[1:], len(parts)], strict=True))
    segments, known, vectors = await _segments(io, turn, parts, ranges, around, {})
    may_ask = ask and not settings.analyst.needs_statistics
    sure = all(segment.verdict.sure for segment in segments)
    if may_ask and (not sure or await _is_unclear(io, parts, starts, vectors)):
        offered = _offered(turn, known.values(), around)
        texts = tuple(part.text for part in parts)
        question = Turn(turn, texts, tuple(offered.values()), around.before)
        proposals = await _ask(io, settings, question)
        if proposals:
            wanted = as_ranges(proposals, len(parts))
            cuts = [span for span, _ in wanted]
            if cuts != ranges:
                segments, _, vectors = await _segments(io, turn, parts, cuts, around, vectors)
            segments = [
                _settle(segment, proposal, offered, around, settings.ledger)
                for segment, (_, proposal) in zip(segments, wanted, strict=True)
            ]
    return Segmentation(tuple(map(_linked, segments)), vectors)


# -- context ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Context:
    """What a turn is held against. names: folded names of those who talk."""

    before: Note | None
    corpus: Corpus
    names: frozenset[str]


async def _candidates(
    io: IO, note: Note, vector: Vector, before: Note | None
) -> tuple[Candidate, ...]:
    """The nearest older notes by meaning and by words, and the turn before, nearest first."""
    found = {*chain(*await search(io, note, vector, _NEAREST, _BY_WORDS))}
    if before is not None and before.status is not Status.SKIPPED:
        found.add(before.id)
    near = await by_similarity(io, vector, found)
    return tuple(
        Candidate(note_from(point), cosine, rank) for rank, (cosine, point) in enumerate(near)
    )


def _offered(
    turn: Note, found: Iterable[Sequence[Candidate]], around: _Context
) -> dict[str, Candidate]:
    """The candidates that are nearest to the turn, or have most of its words, by their ids."""
    keys, _ = sentences.weigh_words(turn.content, around.corpus, around.names)

    def nearness(candidate: Candidate) -> float:
        shared = turns.shared_weight(keys, candidate.note, around.corpus)
        return max(candidate.similarity, shared)

    candidates = {each.note.id: each for each in chain(*found)}
    best = sorted(candidates.values(), key=lambda each: (-nearness(each), each.note.id))
    return {each.note.id: each for each in best[:_OFFERED]}


# -- ideas -----------------------------------------------------------------------------------


async def _is_unclear(
    io: IO, parts: Sequence[sentences.Sentence], starts: Sequence[int], known: Mapping[str, Vector]
) -> bool:
    """Whether sentences of one idea may be two: no word in common, and far from each other."""
    pairs = [pair for pair in sentences.unrelated_pairs(parts) if pair[1] not in starts]
    if not pairs:
        return False
    vectors = await vectors_of(io, (parts[at].text for pair in pairs for at in pair), known)
    return any(
        similarity(vectors[parts[one].text], [vectors[parts[other].text]]) < sentences.NEAR
        for one, other in pairs
    )


async def _segments(
    io: IO,
    turn: Note,
    parts: Sequence[sentences.Sentence],
    ranges: Sequence[tuple[int, int]],
    around: _Context,
    known: Mapping[str, Vector],
) -> tuple[list[Segment], dict[str, tuple[Candidate, ...]], dict[str, Vector]]:
    """A segment for each range, the candidates of each, and the vectors of their texts."""
    notes = spans(turn, parts, ranges, io.now) if len(ranges) > 1 else [turn]
    texts = [text for note in notes for text in passages(note)[:FIRST_PASSAGES]]
    vectors = await vectors_of(io, texts, known)
    found = await io.gather(
        *(_candidates(io, note, vectors[passages(note)[0]], around.before) for note in notes)
    )
    candidates = {note.id: each for note, each in zip(notes, found, strict=True)}
    segments = [
        Segment(
            note,
            turns.classify(note, candidates[note.id], around.before, around.corpus, around.names),
        )
        for note in notes
    ]
    return segments, candidates, vectors


def spans(
    turn: Note,
    parts: Sequence[sentences.Sentence],
    ranges: Sequence[tuple[int, int]],
    now: Callable[[], datetime],
) -> list[Note]:
    """A note for each range of sentences: a stretch of the turn, under a key of its own."""
    notes: list[Note] = []
    for first, end in ranges:
        start, stop = parts[first].start, parts[end - 1].end
        # A name that no caller gives, and the same however often the turn comes.
        key = "auto:" + uuid.uuid5(uuid.UUID(turn.id), f"span {start}").hex
        moment = now()
        piece = replace(turn, content=turn.content[start:stop], source_id=turn.key, position=start)
        id = note_id(turn.namespace, key)
        notes.append(replace(piece, id=id, key=key, created_at=moment, updated_at=moment))
    return notes


def _linked(segment: Segment) -> Segment:
    """The segment with the link and the status that its verdict gives its note."""
    note, verdict = segment.note, segment.verdict
    status = Status.SKIPPED if verdict.kind in ("nothing", "repetition") else Status.RAW
    links: tuple[Link, ...] = ()
    if verdict.of is not None and verdict.kind in _LINKS:
        kind, weight = _LINKS[verdict.kind]
        links = (Link(note.id, verdict.of, verdict.reason, note.created_at, kind, weight),)
    return replace(segment, note=replace(note, status=status, links=links))


async def earlier_notes(io: IO, turn: Note) -> list[Note]:
    """The notes that a turn of this key was made into, in its order; empty for a new one."""
    whole = await load(io, [turn.id], turn.namespace)
    return [*whole.values(), *await pieces(io, turn.key, turn.namespace)]


async def pieces(io: IO, source_id: str, namespace: Namespace) -> list[Note]:
    """The notes of the several ideas of a turn, in its order; empty if it held only one."""
    where = within(namespace, match("source_id", source_id))
    points = await io.engine.scroll(where, limit=_MOST_PIECES)
    return sorted(map(note_from, points), key=lambda note: (note.position or 0, note.id))


# -- what a model proposes -------------------------------------------------------------------


async def _ask(io: IO, settings: Settings, turn: Turn) -> list[IdeaProposal] | None:
    """What the analyst proposes; None where that cannot be had, which is counted."""
    account = settings.ledger.account(turn.note.namespace, settings.mode)
    settings.ledger.count("turn.asked")
    try:
        proposed = await settings.analyst.segment(metered(io, account), turn)
    except StoreError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise
        reason = error.reason if isinstance(error, AnalysisError) else type(error).__name__
        settings.ledger.count("turn.fallback")
        _LOG.warning("The model failed; statistics split the turn (%s).", reason)
        _LOG.debug("Why.", exc_info=error)
        proposed = None
    await save_usage(io, settings.ledger, every=_SAVED_AFTER)
    return proposed


def as_ranges(
    proposed: Sequence[IdeaProposal], size: int
) -> list[tuple[tuple[int, int], IdeaProposal]]:
    """The sentences of each idea; what is nothing goes with the idea before it, if there is one."""
    kept = [each for each in proposed if each.kind != "nothing"][: sentences.MAX_IDEAS]
    kept = kept or list(proposed[:1])
    starts = [0, *(each.first for each in kept[1:])]
    ends = [*starts[1:], size]
    return list(zip(zip(starts, ends, strict=True), kept, strict=True))


def _settle(
    segment: Segment,
    proposal: IdeaProposal,
    offered: Mapping[str, Candidate],
    around: _Context,
    ledger: Ledger,
) -> Segment:
    """The segment with the proposed verdict, unless statistics speak against it."""
    refusal = _refusal(segment.note.content, proposal, offered, around)
    if refusal is not None:
        ledger.count(f"turn.dropped.{refusal}")
        return segment
    return replace(segment, verdict=Verdict(proposal.kind, "so the model judged", proposal.of))


def _refusal(
    text: str, proposal: IdeaProposal, offered: Mapping[str, Candidate], around: _Context
) -> str | None:
    keys, mass = sentences.weigh_words(text, around.corpus, around.names)
    if proposal.kind == "nothing":
        return "nothing" if mass > MOST_OF_NOTHING else None
    if proposal.of is None:
        return None
    candidate = offered.get(proposal.of)
    if candidate is None:
        return "not_offered"
    shared = turns.shared_weight(keys, candidate.note, around.corpus)
    apart = shared < LEAST_SAID and candidate.similarity < LEAST_NEAR
    return "unlike" if apart and proposal.kind == "repetition" else None
