"""A model that does not answer is given up; one that does is left alone."""

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest

from amem_integrations import Status
from amem_integrations.core.analysis import ChatReply, ChatRequest, Message
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.llms.failures import Deadline
from tests.support import EMBEDDER, chat_model, judgement, open_memory

REQUEST = ChatRequest("fuse", [Message("user", "tea")], {})
PLACE = contextvars.ContextVar("PLACE", default="nowhere")


class Model:
    name = "model"

    def __init__(self, seconds: float = 0.0, error: BaseException | None = None) -> None:
        self.seconds = seconds
        self.error = error
        self.cancelled = False

    def complete(self, request: ChatRequest) -> ChatReply:
        time.sleep(self.seconds)
        return self._reply()

    async def acomplete(self, request: ChatRequest) -> ChatReply:
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return self._reply()

    def _reply(self) -> ChatReply:
        if self.error:
            raise self.error
        return ChatReply(PLACE.get())


def test_an_answer_in_time_comes_back_and_the_context_goes_along() -> None:
    here = contextvars.copy_context()
    here.run(PLACE.set, "here")
    assert here.run(Deadline(Model(), 5).complete, REQUEST).text == "here"
    assert asyncio.run(Deadline(Model(), 5).acomplete(REQUEST)).text == "nowhere"
    assert Deadline(Model(), 5).name == "model"


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_late_answer_is_a_timeout(form: str) -> None:
    model = Model(0.5)
    deadline = Deadline(model, 0.05)
    sync = form == "sync"
    call = asyncio.to_thread(deadline.complete, REQUEST) if sync else deadline.acomplete(REQUEST)
    with pytest.raises(AnalysisError, match=r"0.05 s.*model_timeout") as caught:
        await call
    assert (caught.value.reason, caught.value.retryable) == ("timeout", True)
    assert model.cancelled == (form == "async")


@pytest.mark.parametrize("error", [KeyError("odd"), SystemExit(3), TimeoutError("its own")])
def test_errors_pass_through_as_they_are(error: BaseException) -> None:
    deadline = Deadline(Model(error=error), 5)
    for ask in (deadline.complete, lambda request: asyncio.run(deadline.acomplete(request))):
        with pytest.raises(type(error)) as caught:
            ask(REQUEST)
        assert caught.value is error


def test_a_stalled_model_leaves_a_stored_note_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amem_integrations.analysts.llm._FIRST_WAIT", 0.0)
    stalled = threading.Event()

    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if not stalled.is_set():
            stalled.wait(30)
        return judgement(text)

    with open_memory(model=chat_model(judge), model_timeout=0.05) as memory:
        note = memory.add("The redis cache")
        assert (note.status, note.attempts) == (Status.RAW, 1)
        assert "timeout" in str(note.last_error)
        stalled.set()
        assert memory.resume() == 1


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_the_time_is_positive(seconds: float) -> None:
    with pytest.raises(InvalidInputError, match="model_timeout"):
        open_memory(embedder=EMBEDDER, model_timeout=seconds)
