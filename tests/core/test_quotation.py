"""Untrusted text for a prompt: no token, nothing invisible, and all that can be read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.quotation import quote_json, quote_text, strip_invisible
from amem_integrations.core.values import is_blank
from tests.faults.attacks import TOKENS
from tests.faults.quoting import is_invisible, unsafe_text

PIECES = [
    "<",
    "[",
    "]",
    "|",
    "/",
    "INST",
    "im_end",
    "\\",
    '"',
    "{",
    "}",
    "\u200b",
    "\u00ad",
    "~",
    "\r",
]
TEXTS = st.text() | st.lists(st.sampled_from([*PIECES, *TOKENS])).map("".join)
# Of no test of attacks: openPangu, MiniMax, Sarvam, Persimmon, Kimi-VL, and other widths.
ODD = ("[unused9]", "[e~[", "]~b]", "[@BOS@]", "|ENDOFTEXT|", "◁think▷", "＜s＞", "［INST］")


@pytest.mark.parametrize("token", [*TOKENS, *ODD])
def test_no_token_comes_through(token: str) -> None:
    for text in (token, f"x{token}y", "\u200b".join(token), f"{token}{token}"):
        assert token not in quote_text(text)
        assert token not in quote_json({"text": text, text: [text]})


@given(TEXTS)
def test_any_text_is_one_line_of_json_that_says_what_can_be_seen_of_it(text: str) -> None:
    line = quote_json({"a": [text, {"b": text}]})
    seen = strip_invisible(text)
    assert json.loads(line) == {"a": [seen, {"b": seen}]}
    assert json.loads(quote_json([text], compact=True)) == [seen]
    assert len(line.splitlines()) == 1
    assert not unsafe_text([("", line), ("", quote_text(text))])
    assert not any(map(is_invisible, seen))
    assert seen == strip_invisible(seen)


@pytest.mark.parametrize(
    "text",
    ["x[0] + y[key]", "[1], [x] and [ ]", "[a link](https://a.example/?q=1)", "list[str]", "f(){}",
     "a > b | c", "[one two]", "क्षेत्र", "缓存【注】", "e\u0301", "❤ 👍🏽", "\ttab\nline"],
)  # fmt: skip
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert quote_text(text) == text


def test_line_ends_of_all_kinds_are_line_feeds() -> None:
    assert strip_invisible("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h") == "a\nb\nc\nd\ne\nf\ng\nh"


def test_people_are_shown_joiners_and_models_are_not() -> None:
    text = "👩\u200d🔧 می\u200cخواهم ❤\ufe0f"
    assert strip_invisible(text + "\u202e\u200b", keep_joiners=True) == text
    assert strip_invisible(text) == "👩🔧 میخواهم ❤"


def test_a_text_of_invisible_characters_is_blank() -> None:
    assert is_blank(" \u3164\u2800\ufe0f\U000e0041\n")
    assert not is_blank("\u3164a")
