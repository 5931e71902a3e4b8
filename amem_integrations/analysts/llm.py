"""The analyst that asks a chat model (paper §3.1–3.3)."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from amem_integrations.analysts import answers, prompts
from amem_integrations.analysts.answers import Answer, UnusableAnswerError
from amem_integrations.analysts.plausibility import IMPLAUSIBLE, require_own
from amem_integrations.core.analysis import (
    ChatReply,
    ChatRequest,
    Distilled,
    Evolution,
    IdeaProposal,
    Judgement,
    LinkProposal,
    Message,
    Subject,
    Turn,
    Understanding,
)
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note, clean_terms
from amem_integrations.core.quotation import quote_text
from amem_integrations.errors import AnalysisError

if TYPE_CHECKING:
    from tenacity import RetryCallState

_LOG = logging.getLogger(__name__)

ATTEMPTS = 3
LONGEST_WAIT = 60.0
_FIRST_WAIT = 1.0
_QUOTED_CHARS = 2000
MAX_TERMS = 8
"""How many keywords, and how many tags, evolutions may bring a note to."""

T = TypeVar("T")


class LLMAnalyst:
    """Analyses notes by asking a chat model, one call an analysis when all goes well.

    instructions: a domain's vocabulary and rules, added to every question.

    An answer that cannot be read is asked for once more, with the problem. A failure that may pass
    is retried, up to ATTEMPTS attempts in all. Every method raises AnalysisError: the chat model's
    own, or with the reason "unparsable" or "empty" when the answers stayed unusable.
    """

    reads_candidates = True
    needs_statistics = False

    def __init__(self, instructions: str | None = None, *, name: str = "chat") -> None:
        self.name = name
        self.instructions = instructions

    async def construct(self, io: IO, subject: Subject) -> Understanding:
        return await self._understand(io, subject, "construct")

    async def link(self, io: IO, subject: Subject) -> list[LinkProposal]:
        subject = _oldest_first(subject)
        offered = prompts.handles(subject.candidates)
        if not offered:
            return []
        request = prompts.link_request(subject, self.instructions)
        return await self._ask(io, request, lambda answer: answers.links(answer, offered))

    async def evolve(
        self, io: IO, subject: Subject, links: Sequence[LinkProposal]
    ) -> list[Evolution]:
        subject = _oldest_first(subject)
        offered = prompts.handles(subject.candidates)
        if not offered:
            return []
        request = prompts.evolve_request(subject, links, self.instructions)
        found = await self._ask(io, request, lambda answer: answers.evolutions(answer, offered))
        return _completed(found, _notes_of([subject]))

    async def fuse(self, io: IO, subject: Subject) -> Judgement:
        subject = _oldest_first(subject)
        offered = prompts.handles(subject.candidates)
        if not offered:
            # The turn before may still say what a short answer means.
            return Judgement(await self._understand(io, subject, "fuse"))
        request = prompts.fuse_request(subject, self.instructions)
        others = [candidate.note for candidate in subject.candidates]

        def read(answer: Answer) -> Judgement:
            found = answers.judgement(answer, offered)
            require_own(subject.note, found.understanding, others)
            return found

        found = await self._ask(io, request, read)
        return _with_completed(found, _notes_of([subject]))

    async def batch(self, io: IO, subjects: Sequence[Subject]) -> list[Judgement | AnalysisError]:
        new = [subject.note for subject in subjects]
        known = _notes_of(subjects)
        context = {
            s.note.id: each.note for s in subjects for each in s.candidates if each.is_context
        }
        others = known.keys() - {note.id for note in new}
        older = sorted((known[id] for id in others), key=_age)
        offered = prompts.numbered([*older, *new])
        handles = list(offered)[-len(new) :]

        def read(answer: Answer) -> list[Judgement | AnalysisError]:
            by_handle = answers.by_note(answer, handles)
            found = [_batched(by_handle.get(handle), offered, handle) for handle in handles]
            return _own(new, found, older)

        request = prompts.batch_request(older, new, self.instructions, context)
        found = await self._ask(io, request, read, insist=False)
        return [
            each if isinstance(each, AnalysisError) else _with_completed(each, known)
            for each in found
        ]

    async def segment(self, io: IO, turn: Turn) -> list[IdeaProposal]:
        """Ask once: an answer that cannot be read is not repaired, since statistics stand ready."""
        offered = prompts.handles(turn.candidates)
        reply = await io.chat(prompts.segment_request(turn, self.instructions))
        try:
            return answers.ideas(_data(reply), offered, len(turn.sentences))
        except UnusableAnswerError as problem:
            raise _failure("segment", problem, retryable=False) from problem

    async def distil(self, io: IO, notes: Sequence[Note]) -> Distilled | None:
        request = prompts.distil_request(notes, self.instructions)
        return await self._ask(io, request, answers.distilled)

    async def _understand(self, io: IO, subject: Subject, step: str) -> Understanding:
        request = prompts.construct_request(subject, self.instructions, step=step)
        return await self._ask(io, request, answers.understanding)

    async def _ask(
        self, io: IO, request: ChatRequest, read: Callable[[Answer], T], *, insist: bool = True
    ) -> T:
        """Return what `read` makes of the answer; repaired once in all, retried where that helps.

        insist: also retry when the repaired answer is no more usable than the first.
        """
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        repaired, question = False, request

        async def attempt() -> T:
            nonlocal repaired, question
            first, question = question, replace(request, again=True)
            reply = await io.chat(first)
            while True:
                try:
                    return read(_data(reply))
                except UnusableAnswerError as problem:
                    _LOG.debug("A %s answer is %s.", request.step, problem.reason)
                    if repaired:
                        raise _failure(request.step, problem, retryable=insist) from problem
                    repaired, follow_up = True, _follow_up(request, reply, problem)
                reply = await io.chat(follow_up)

        retrying = AsyncRetrying(
            # With a sleep of io's own, tenacity awaits nothing else, so `run` can drive it.
            sleep=io.sleep,
            stop=stop_after_attempt(ATTEMPTS),
            wait=_pause,
            retry=retry_if_exception(_may_pass),
            reraise=True,
        )
        return await retrying(attempt)


def _age(note: Note) -> tuple[datetime, str]:
    return note.created_at, note.id


def _oldest_first(subject: Subject) -> Subject:
    """The turn before comes last, right before the subject."""
    candidates = sorted(subject.candidates, key=lambda candidate: _age(candidate.note))
    return replace(subject, candidates=tuple(candidates))


def _notes_of(subjects: Sequence[Subject]) -> dict[str, Note]:
    """The older notes that may be linked to."""
    candidates = (each for subject in subjects for each in subject.candidates)
    return {each.note.id: each.note for each in candidates if not each.is_context}


def _with_completed(judgement: Judgement, notes: Mapping[str, Note]) -> Judgement:
    return replace(judgement, evolutions=tuple(_completed(judgement.evolutions, notes)))


def _completed(evolutions: Sequence[Evolution], notes: Mapping[str, Note]) -> list[Evolution]:
    """Evolutions with all terms that a note will have: the model names those to add.

    So it need not be shown those that are there, and cannot lose them.
    """

    def with_own(id: str, name: str, added: tuple[str, ...] | None) -> tuple[str, ...] | None:
        own: tuple[str, ...] = getattr(notes[id], name) if id in notes else ()
        return added and clean_terms((*own, *added), max(MAX_TERMS, len(own)))

    return [
        replace(
            each,
            keywords=with_own(each.note_id, "keywords", each.keywords),
            tags=with_own(each.note_id, "tags", each.tags),
        )
        for each in evolutions
    ]


def _batched(
    answer: Answer | None, offered: Mapping[str, str], handle: str
) -> Judgement | AnalysisError:
    """Read what a batched answer says of the note `handle`; it may name itself and older notes."""
    older = {each: id for each, id in offered.items() if int(each) <= int(handle)}
    try:
        if answer is None:
            raise UnusableAnswerError("it leaves the note out, or has it twice")
        return answers.judgement(answer, older)
    except UnusableAnswerError as problem:
        return _failure("batch", problem, retryable=True)


def _own(
    notes: Sequence[Note], found: Sequence[Judgement | AnalysisError], older: Sequence[Note]
) -> list[Judgement | AnalysisError]:
    """The judgements, with an error for each that describes another note."""
    said: list[tuple[Note, Understanding]] = []
    kept: list[Judgement | AnalysisError] = []
    for note, judgement in zip(notes, found, strict=True):
        if isinstance(judgement, Judgement):
            others = [other for other in (*older, *notes) if other is not note]
            try:
                require_own(note, judgement.understanding, others, said)
            except UnusableAnswerError as problem:
                judgement = _failure("batch", problem, retryable=True)
            else:
                said.append((note, judgement.understanding))
        kept.append(judgement)
    return kept


def _data(reply: ChatReply) -> Answer:
    if reply.data is not None:
        return reply.data
    raise UnusableAnswerError(
        "it was cut off at the model's output limit; be shorter"
        if "truncated" in reply.notes
        else "it holds no JSON object that fits"
    )


def _follow_up(request: ChatRequest, reply: ChatReply, problem: Exception) -> ChatRequest:
    schema = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
    again = (
        f"That answer cannot be used: {problem}. Answer again, with one JSON object that fits "
        f"this schema and nothing else: {schema}"
    )
    messages = [*request.messages, Message("user", again)]
    if reply.text.strip():  # several providers reject a message without text
        # It may repeat what a note says.
        shown = quote_text(prompts.cut(reply.text, _QUOTED_CHARS))
        messages.insert(-1, Message("assistant", shown))
    return replace(request, messages=messages, again=True)


def _failure(step: str, problem: UnusableAnswerError, *, retryable: bool) -> AnalysisError:
    return AnalysisError(
        f"The model's answer to {step} cannot be used: {problem}. A model that keeps doing this "
        "needs a larger output limit, or is too small for the task.",
        reason=problem.reason,
        retryable=retryable,
    )


def _may_pass(error: BaseException) -> bool:
    # A longer wait than this is left to the retry of the note.
    return (
        isinstance(error, AnalysisError)
        and error.retryable
        and (error.retry_after is None or error.retry_after <= LONGEST_WAIT)
    )


def _pause(state: "RetryCallState") -> float:
    """Return the seconds before the next attempt: the provider's wish, else doubling from 1."""
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, AnalysisError) or error.reason in ("unparsable", "empty", IMPLAUSIBLE):
        return 0.0
    if error.retry_after is not None:
        return error.retry_after
    return min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (state.attempt_number - 1))
