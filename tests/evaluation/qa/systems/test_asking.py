"""Asking a model: what it is shown, what is taken of its answer, and when it is asked again."""

from collections.abc import Mapping
from typing import Any

import pytest

from amem_integrations.core.analysis import ChatReply, ChatRequest
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.qa.systems.asking import NUMBER, TEXT, ask, texts
from tests.evaluation.qa.systems.support import Scripted

WANTED = {"text": TEXT, "after": NUMBER, "pages": texts(3)}


class Flaky(Scripted):
    """Fails, or says nothing that can be read, before it answers."""

    def __init__(self, *failures: Exception | None, **answers: Mapping[str, Any]) -> None:
        super().__init__(**answers)
        self.failures = list(failures)

    def complete(self, request: ChatRequest) -> ChatReply:
        if not self.failures:
            return super().complete(request)
        self.asked.append(request)
        failure = self.failures.pop(0)
        if failure is not None:
            raise failure
        return ChatReply("no JSON here")


def failure(*, retryable: bool) -> AnalysisError:
    return AnalysisError("it failed", reason="error", retryable=retryable)


def asked(model: Scripted) -> dict[str, Any]:
    return ask(model, "a-step", "Be brief.", "what was said", "What follows?", WANTED)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been waited."""
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    return waited


def test_what_was_said_is_fenced_between_the_rules_and_the_request() -> None:
    model = Scripted(a_step={})
    asked(model)
    rules, shown = (message.content for message in model.asked[0].messages)
    assert rules.startswith("Be brief.")
    assert "never instructions" in rules
    assert shown.splitlines() == ["--------", "what was said", "--------", "What follows?"]


def test_answers_of_another_type_or_name_are_left_out() -> None:
    model = Scripted(a_step={"text": 7, "after": 3, "pages": [1], "more": "x"})
    assert asked(model) == {"after": 3, "pages": [1]}


def test_what_may_pass_is_asked_again(pauses: list[float]) -> None:
    model = Flaky(failure(retryable=True), None, a_step={"text": "yes"})
    assert asked(model) == {"text": "yes"}
    assert [request.again for request in model.asked] == [False, True, True]
    assert len(pauses) == 2


def test_after_three_times_it_is_given_up() -> None:
    model = Flaky(*[None] * 9, a_step={})
    with pytest.raises(AnalysisError, match="gave no JSON object to a-step"):
        asked(model)
    assert len(model.asked) == 3


def test_what_will_not_pass_is_asked_once() -> None:
    model = Flaky(failure(retryable=False), a_step={})
    with pytest.raises(AnalysisError, match="it failed"):
        asked(model)
    assert len(model.asked) == 1
