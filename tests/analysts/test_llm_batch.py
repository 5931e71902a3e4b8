"""Judging several notes in one question: what is shown, and how the answer is read."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations.analysts.llm import LLMAnalyst
from amem_integrations.core.analysis import (
    Candidate,
    ChatReply,
    ChatRequest,
    Evolution,
    Judgement,
    LinkProposal,
    Subject,
    Understanding,
)
from amem_integrations.core.io import run
from amem_integrations.core.note import Note, make_note
from amem_integrations.errors import AnalysisError
from tests.analysts.test_prompts import every_object, fenced

START = datetime(2026, 3, 2, tzinfo=UTC)
UNDERSTOOD: dict[str, Any] = {
    "keywords": ["LRU", "cache"],
    "tags": ["design"],
    "context": "A wish for LRU eviction.",
    "links": [],
    "evolutions": [],
}
UNDERSTANDING = Understanding(("LRU", "cache"), ("design",), "A wish for LRU eviction.")


def note(text: str, minute: int, **fields: Any) -> Note:
    made = make_note(text, namespace="n", now=START + timedelta(minutes=minute))
    return made.evolve(**fields)


OLD = [note("one", 1, keywords=("k",), tags=("t",), context="c"), note("two", 2)]
NEW = [note(f"new {n}", n) for n in (11, 12, 13)]


def subjects() -> list[Subject]:
    """Three; the second found both old notes and the first new one, the third found nothing."""
    found = [[OLD[1]], [OLD[1], NEW[0], OLD[0]], []]
    return [
        Subject(new, tuple(Candidate(each, 0.5, place) for place, each in enumerate(notes)))
        for new, notes in zip(NEW, found, strict=True)
    ]


class Answering:
    """An io with scripted answers."""

    def __init__(self, *answers: dict[str, object] | AnalysisError | None) -> None:
        self.answers = list(answers)
        self.asked: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, AnalysisError):
            raise answer
        return ChatReply("", answer)

    async def sleep(self, seconds: float) -> None: ...


def judged(*items: dict[str, Any], said: Any = None) -> list[Judgement | AnalysisError]:
    io: Any = Answering({"notes": list(items) if said is None else said})
    return run(LLMAnalyst().batch(io, subjects()))


def asked(**options: Any) -> ChatRequest:
    io: Any = Answering({"notes": [{"n": "3", **UNDERSTOOD}]})
    run(LLMAnalyst(**options).batch(io, subjects()))
    return io.asked[0]


def items(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"n": n, **UNDERSTOOD, **changes.get(f"n{n}", {})} for n in ("3", "4", "5")]


# -- what is shown --------------------------------------------------------------------------


def test_old_notes_come_first_once_each_and_numbers_run_on() -> None:
    shown = fenced(list(asked().messages))
    assert [each["n"] for each in shown] == ["1", "2", "3", "4", "5"]
    assert [each["text"] for each in shown[:2]] == ["one", "two"]
    assert [each["new"]["text"] for each in shown[2:]] == ["new 11", "new 12", "new 13"]
    assert shown[0]["context"] == "c"


def test_the_question_is_named_and_holds_the_rules_of_all_steps() -> None:
    request = asked(instructions="Call the product Atlas.")
    assert request.step == "batch"
    rules = request.messages[0].content
    for name in ("notes", "keywords", "tags", "context", "questions", "links", "evolutions"):
        assert f'\n"{name}": ' in rules
    assert rules.endswith("Call the product Atlas.")


def test_the_schema_lets_new_notes_be_filed_and_no_later_one_be_named() -> None:
    schema: Any = asked().schema
    filed = schema["properties"]["notes"]["items"]["properties"]
    assert all(
        found["required"] == list(found["properties"]) and not found["additionalProperties"]
        for found in every_object(schema)
    )
    assert filed["n"]["enum"] == ["3", "4", "5"]
    assert filed["links"]["items"]["properties"]["to"]["enum"] == ["1", "2", "3", "4"]
    assert filed["evolutions"]["items"]["properties"]["note"]["enum"] == ["1", "2", "3", "4"]


# -- how the answer is read -----------------------------------------------------------------


def test_each_note_gets_what_is_said_of_it_in_order_of_the_subjects() -> None:
    link = {"to": "1", "reason": "r", "kind": "cause", "strength": 0.5}
    evolution = {"note": "3", "reason": "e", "keywords": ["x"], "tags": [], "context": ""}
    third, second, first = reversed(items(n4={"links": [link], "evolutions": [evolution]}))
    assert judged(third, first, second) == [
        Judgement(UNDERSTANDING),
        Judgement(
            UNDERSTANDING,
            (LinkProposal(OLD[0].id, "r", "cause", 0.5),),
            (Evolution(NEW[0].id, ("x",), reason="e"),),
        ),
        Judgement(UNDERSTANDING),
    ]


@pytest.mark.parametrize(
    ("to", "proposed"),
    [("2", OLD[1].id), ("3", NEW[0].id), ("4", NEW[1].id), ("5", "?5"), ("9", "?9")],
)
def test_a_note_can_name_what_comes_before_it_and_itself(to: str, proposed: str) -> None:
    found = judged(*items(n4={"links": [{"to": to, "reason": "r"}]}))[1]
    assert isinstance(found, Judgement)
    assert [link.to for link in found.links] == [proposed]


def test_an_object_by_handle_is_read_like_a_list() -> None:
    found = judged(said=dict.fromkeys(("3", "4", "5"), UNDERSTOOD))
    assert found == [Judgement(UNDERSTANDING)] * 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"keywords": []}, "empty"), ({"tags": 7}, "unparsable"), ({"links": "x"}, "unparsable")],
)
def test_an_error_stands_for_the_note_that_is_wrong(change: dict[str, Any], reason: str) -> None:
    first, second, third = judged(*items(n4=change))
    assert first == third == Judgement(UNDERSTANDING)
    assert isinstance(second, AnalysisError)
    assert second.reason == reason


def outcomes(found: Sequence[object]) -> list[bool]:
    return [isinstance(each, Judgement) for each in found]


def test_a_note_that_is_left_out_or_there_twice_has_to_be_judged_alone() -> None:
    first, second, _ = items()
    assert outcomes(judged(first, second, second)) == [True, False, False]


def test_an_answer_without_any_of_the_notes_is_repaired_once_and_then_given_up() -> None:
    io: Any = Answering({"notes": []}, {"notes": [{"n": "1", **UNDERSTOOD}]})
    with pytest.raises(AnalysisError) as caught:
        run(LLMAnalyst().batch(io, subjects()))
    assert caught.value.reason == "unparsable"
    assert not caught.value.retryable
    assert len(io.asked) == 2


@pytest.mark.parametrize("first", [None, AnalysisError("down", reason="server", retryable=True)])
def test_an_answer_that_is_good_when_asked_again_is_taken(first: AnalysisError | None) -> None:
    io: Any = Answering(first, {"notes": items()})
    assert outcomes(run(LLMAnalyst().batch(io, subjects()))) == [True] * 3
