"""The JSON object in what a model wrote: found amid talk, never completed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.analysts.prompts import fuse_request
from amem_integrations.llms.json_answers import MAX_CHARS, find_object
from tests.analysts.test_prompts import UNDERSTANDING, note, subject
from tests.support import check_linear

ANSWER = {
    "keywords": ["LRU", "快取"],
    "tags": ["design"],
    "context": 'Says "{no}", then </think>.',
    "questions": [],
}
TEXT = json.dumps(ANSWER, ensure_ascii=False)


def found(text: str) -> dict[str, Any] | None:
    return find_object(text, UNDERSTANDING)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Of course! Here it is:\n\n{TEXT}\n\nAnything else?",
        f"<think>maybe {{x}}? or {{}}</think>\n{TEXT}",
        f"<THINKING>\nhm\n</THINKING>```json\n{TEXT}```",
        f"so it is about a cache {{}}\n</think>\n\n{TEXT}",
        f"The set {{a, b}} is what I mean. {TEXT}",
    ],
)
def test_talk_fences_and_reasoning_around_the_answer_are_ignored(text: str) -> None:
    assert found(text) == ANSWER


def test_trailing_commas_are_forgiven_but_commas_in_strings_kept() -> None:
    text = '{"keywords": ["a,]", "b",], "tags": [], "context": "x, }",\n}'
    assert found(text) == {"keywords": ["a,]", "b"], "tags": [], "context": "x, }"}


@pytest.mark.parametrize(
    "text",
    [
        '{"keywords": ["LRU"], "tags": [], "context": "One line.\nAnother."}',
        "{'keywords': ['LRU'], 'tags': [], 'context': 'One line.\\nAnother.'}",
        '{"keywords": ["LRU"], // the terms\n"tags": [], /* none */\n'
        '"context": "One line.\\nAnother.", // "x"\n}',
        json.dumps({"answer": {"keywords": ["LRU"], "tags": [], "context": "One line.\nAnother."}}),
        json.dumps(json.dumps({"keywords": ["LRU"], "tags": [], "context": "One line.\nAnother."})),
        json.dumps(
            {"answer": '{"keywords": ["LRU"], "tags": [], "context": "One line.\nAnother."}'}
        ),
    ],
)
def test_what_is_nearly_json_is_read(text: str) -> None:
    assert found(text) == {"keywords": ["LRU"], "tags": [], "context": "One line.\nAnother."}


def test_quotes_and_slashes_in_strings_are_kept() -> None:
    text = (
        """{'keywords': ['Marta's "bed"', 'http://x.y // z'], """
        """'tags': [None, True], 'context': 'a\\'b'}"""
    )
    assert found(text) == {
        "keywords": ['Marta\'s "bed"', "http://x.y // z"],
        "tags": [None, True],
        "context": "a'b",
    }


def test_the_final_answer_wins_over_a_draft() -> None:
    draft = json.dumps({**ANSWER, "context": "A draft."})
    assert found(f"Draft: {draft}\nBetter: {TEXT}") == ANSWER


def test_the_fuller_answer_wins_over_a_later_fragment() -> None:
    assert found(f'{TEXT} where {{"keywords": []}} would be wrong') == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot say.",
        "{}",
        '{"error": "no"}',
        '{"keywords": [NaN], "tags": }',
        "<think>still thinking {",
        f"<think>{TEXT}",
        "{" * 5000,
        '{"keywords":' * 5000,
    ],
)
def test_what_is_no_answer_is_none(text: str) -> None:
    assert found(text) is None


def test_an_answer_that_lacks_a_property_is_still_one_and_nan_is_nothing() -> None:
    assert found('{"keywords": [NaN, Infinity]}') == {"keywords": [None, None]}


@given(st.data())
def test_a_smaller_object_within_a_truncated_answer_is_not_mistaken_for_it(
    data: st.DataObject,
) -> None:
    evolution = {"note": "1", "reason": "r", "keywords": ["k"], "tags": ["t"], "context": "c"}
    link = {"to": "1", "reason": "r", "kind": "cause", "strength": 1}
    text = json.dumps({**ANSWER, "links": [link], "evolutions": [evolution, evolution]})
    length = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    fused = fuse_request(subject("new", note("old"))).schema
    assert find_object(text[:length], fused) is None
    quoted = text.replace('"', "'")
    assert find_object(quoted[:length], fused) is None


@pytest.mark.parametrize("piece", ["{", '\\"', ", ", " '", "//", "/*", ",//", "' ,"])
def test_200_kb_of_rubbish_are_given_up_in_linear_time(piece: str) -> None:
    def read(size: int) -> None:
        assert found(piece * (size // len(piece))) is None

    check_linear(read, 200_000)


def test_more_than_the_limit_is_not_read() -> None:
    assert found(" " * MAX_CHARS + TEXT) is None
