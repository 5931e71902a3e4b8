"""The analyst that asks a chat model (paper §3.1–3.3).

Builds the questions, reads the answers, and asks again where that can help. The model itself is
behind `io.chat`; what of a proposal is applied is decided by formation.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from amem_integrations.analysts import answers
from amem_integrations.analysts.prompts import batch, construct, distil, evolve, fuse, link
from amem_integrations.analysts.prompts import turn as segment
from amem_integrations.analysts.prompts.rendering import cut, handles
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
from amem_integrations.core.note import Note
from amem_integrations.errors import AnalysisError, InvalidInputError

if TYPE_CHECKING:
    from tenacity import RetryCallState

_LOG = logging.getLogger(__name__)

LONGEST_WAIT = 60.0
_FIRST_WAIT = 1.0
_QUOTED_CHARS = 2000

T = TypeVar("T")


class ChatAnalyst:
    """Judges notes by asking a chat model, one call a judgement when all goes well.

    instructions: a domain's vocabulary and rules, added to every question.
    repair: ask once more, with the problem, when an answer cannot be read.
    attempts: how often a question is asked when the failure may pass; the repair comes on top.

    Every method raises AnalysisError: the chat model's own, or with the reason "unparsable" or
    "empty" when the answers stayed unusable.
    """

    reads_candidates = True
    needs_statistics = False

    def __init__(
        self,
        instructions: str | None = None,
        repair: bool = True,
        attempts: int = 3,
        *,
        name: str = "chat",
    ) -> None:
        if attempts < 1:
            raise InvalidInputError(f"attempts must be at least 1; got {attempts}.")
        self.name = name
        self.instructions = instructions
        self.repair = repair
        self.attempts = attempts

    async def construct(self, io: IO, subject: Subject) -> Understanding:
        return await self._understand(io, "construct", subject)

    async def link(self, io: IO, subject: Subject) -> list[LinkProposal]:
        offered = handles(subject.candidates)
        if not offered:
            return []
        messages = link.messages(subject, instructions=self.instructions)
        request = ChatRequest("link", messages, link.schema(offered))
        return await self._ask(io, request, lambda answer: answers.links(answer, offered))

    async def evolve(
        self, io: IO, subject: Subject, links: Sequence[LinkProposal]
    ) -> list[Evolution]:
        offered = handles(subject.candidates)
        if not offered:
            return []
        messages = evolve.messages(subject, links, instructions=self.instructions)
        request = ChatRequest("evolve", messages, evolve.schema(offered))
        return await self._ask(io, request, lambda answer: answers.evolutions(answer, offered))

    async def fuse(self, io: IO, subject: Subject) -> Judgement:
        offered = handles(subject.candidates)
        if not offered:
            return Judgement(await self._understand(io, "fuse", subject))

        messages = fuse.messages(subject, instructions=self.instructions)
        request = ChatRequest("fuse", messages, fuse.schema(offered))
        return await self._ask(io, request, lambda answer: _judgement(answer, offered))

    async def batch(self, io: IO, subjects: Sequence[Subject]) -> list[Judgement | AnalysisError]:
        new = [subject.note for subject in subjects]
        known = {each.note.id: each.note for subject in subjects for each in subject.candidates}
        others = known.keys() - {note.id for note in new}
        older = sorted((known[id] for id in others), key=lambda note: (note.created_at, note.id))
        offered = batch.numbered(older, new)
        handles = list(offered)[-len(new) :]

        def read(answer: answers.Answer) -> list[Judgement | AnalysisError]:
            said = answers.by_note(answer, handles)
            return [_judged(said.get(handle), _until(offered, handle)) for handle in handles]

        messages = batch.messages(older, new, instructions=self.instructions)
        request = ChatRequest("batch", messages, batch.schema(offered, len(new)))
        return await self._ask(io, request, read, insist=False)

    async def segment(self, io: IO, turn: Turn) -> list[IdeaProposal]:
        """Asked once: what cannot be read is not asked for again, statistics stand ready."""
        offered = handles(turn.candidates)
        size = len(turn.sentences)
        messages = segment.messages(turn, instructions=self.instructions)
        reply = await io.chat(ChatRequest("segment", messages, segment.schema(size, offered)))
        try:
            return _read(reply, lambda answer: answers.ideas(answer, offered, size))
        except answers.UnusableAnswerError as problem:
            raise _failure("segment", problem, retryable=False) from problem

    async def distil(self, io: IO, notes: Sequence[Note]) -> Distilled | None:
        messages = distil.messages(notes, instructions=self.instructions)
        request = ChatRequest("distil", messages, distil.SCHEMA)
        return await self._ask(io, request, answers.distilled)

    async def _understand(self, io: IO, step: str, subject: Subject) -> Understanding:
        messages = construct.messages(subject, instructions=self.instructions)
        request = ChatRequest(step, messages, construct.SCHEMA)
        return await self._ask(io, request, answers.understanding)

    async def _ask(
        self,
        io: IO,
        request: ChatRequest,
        read: Callable[[answers.Answer], T],
        *,
        insist: bool = True,
    ) -> T:
        """What `read` makes of the answer; repaired once in all, retried while that may help.

        insist: also retry when the repaired answer is no more usable than the first.
        """
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        repairs, asked = int(self.repair), request

        async def attempt() -> T:
            nonlocal repairs, asked
            first, asked = asked, replace(request, again=True)
            reply = await io.chat(first)
            while True:
                try:
                    return _read(reply, read)
                except answers.UnusableAnswerError as problem:
                    _LOG.debug("A %s answer is %s.", request.step, problem.reason)
                    if not repairs:
                        raise _failure(request.step, problem, retryable=insist) from problem
                    repairs -= 1
                    follow_up = _follow_up(request, reply, problem)
                reply = await io.chat(follow_up)

        retrying = AsyncRetrying(
            # With a sleep of io's own, tenacity awaits nothing else, so `ports.run` can drive it.
            sleep=io.sleep,
            stop=stop_after_attempt(self.attempts),
            wait=_pause,
            retry=retry_if_exception(_worth_asking_again),
            reraise=True,
        )
        return await retrying(attempt)


def _judgement(answer: answers.Answer, offered: Mapping[str, str]) -> Judgement:
    return Judgement(
        answers.understanding(answer),
        tuple(answers.links(answer, offered)),
        tuple(answers.evolutions(answer, offered)),
    )


def _judged(answer: answers.Answer | None, offered: Mapping[str, str]) -> Judgement | AnalysisError:
    """What a batched answer says of one note."""
    try:
        if answer is None:
            raise answers.UnusableAnswerError("it leaves the note out, or has it twice")
        return _judgement(answer, offered)
    except answers.UnusableAnswerError as problem:
        return _failure("batch", problem, retryable=True)


def _until(offered: Mapping[str, str], handle: str) -> dict[str, str]:
    """The handles that the note `handle` can name: those before it, and its own."""
    return {each: id for each, id in offered.items() if int(each) <= int(handle)}


def _read(reply: ChatReply, read: Callable[[answers.Answer], T]) -> T:
    if reply.data is None:
        cut_off = "truncated" in reply.notes
        raise answers.UnusableAnswerError(
            "it was cut off at the model's output limit; be shorter"
            if cut_off
            else "it holds no JSON object that fits"
        )
    return read(reply.data)


def _follow_up(request: ChatRequest, reply: ChatReply, problem: Exception) -> ChatRequest:
    schema = json.dumps(request.schema, ensure_ascii=False, separators=(",", ":"))
    again = (
        f"That answer cannot be used: {problem}. Answer again, with one JSON object that fits "
        f"this schema and nothing else: {schema}"
    )
    # Several providers reject a message without text.
    said = [Message("assistant", cut(reply.text, _QUOTED_CHARS))] if reply.text.strip() else []
    messages = [*request.messages, *said, Message("user", again)]
    return replace(request, messages=messages, again=True)


def _failure(step: str, problem: answers.UnusableAnswerError, *, retryable: bool) -> AnalysisError:
    return AnalysisError(
        f"The model's answer to {step} cannot be used: {problem}. A model that keeps doing this "
        "needs a larger output limit, or is too small for the task.",
        reason=problem.reason,
        retryable=retryable,
    )


def _worth_asking_again(error: BaseException) -> bool:
    # Someone who asks for a longer wait than this gets it from whoever retries the note.
    return (
        isinstance(error, AnalysisError)
        and error.retryable
        and (error.retry_after is None or error.retry_after <= LONGEST_WAIT)
    )


def _pause(state: "RetryCallState") -> float:
    """Seconds before the next attempt: what the provider asks for, else doubling from 1."""
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, AnalysisError) or error.reason in ("unparsable", "empty"):
        return 0.0
    if error.retry_after is not None:
        return error.retry_after
    return min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (state.attempt_number - 1))
