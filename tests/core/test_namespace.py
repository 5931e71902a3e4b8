"""Namespaces: labels are data, and no two namespaces share a key."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.namespace import (
    MAX_ENCODED_BYTES,
    MAX_LABELS,
    as_namespace,
    decode,
    encode,
    prefixes,
)
from amem_integrations.core.values import is_blank
from amem_integrations.errors import InvalidInputError

HOSTILE = [
    '"',
    '","',
    '"]',
    "[",
    '["a"]',
    "\\",
    '\\","',
    "\x1f",
    "a\x1fb",
    "a.b",
    "a/b",
    "*",
    "%",
    "_",
    "$.x",
    "\n",
    "\u2028",
    "\u200b",
    "\u202eevil",
    "\u05d0\u05d1",
    "👩‍👩‍👧",
    "null",
    "é",
    "e\u0301",
    "K",
    "\u212a",
    " a",
    "a ",
]

any_character = st.characters(exclude_categories=())
any_labels = st.lists(
    st.one_of(st.text(any_character, max_size=6), st.sampled_from(HOSTILE)), max_size=5
).map(tuple)
valid_labels = (
    st.lists(
        st.one_of(st.text(max_size=8), st.sampled_from(HOSTILE)).filter(
            lambda label: not is_blank(label) and "\x00" not in label
        ),
        min_size=1,
        max_size=5,
    )
).map(tuple)


@given(any_labels, any_labels)
def test_two_namespaces_never_share_a_key(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@given(valid_labels)
def test_valid_labels_are_taken_as_they_are(labels: tuple[str, ...]) -> None:
    assert as_namespace(labels) == labels
    assert as_namespace(list(labels)) == labels
    assert decode(encode(as_namespace(labels))) == labels


@given(valid_labels)
def test_prefixes_are_the_keys_of_every_ancestor_and_of_itself(labels: tuple[str, ...]) -> None:
    found = [decode(prefix) for prefix in prefixes(labels)]
    assert found == [labels[:end] for end in range(1, len(labels) + 1)]


@given(valid_labels, valid_labels)
def test_a_key_is_among_the_prefixes_exactly_of_what_lies_under_it(
    ancestor: tuple[str, ...], labels: tuple[str, ...]
) -> None:
    assert (encode(ancestor) in prefixes(labels)) == (labels[: len(ancestor)] == ancestor)


def test_a_lone_string_is_one_label() -> None:
    assert as_namespace("calvin") == ("calvin",)
    assert as_namespace("org/calvin") == ("org/calvin",)


@pytest.mark.parametrize(
    "value",
    [
        (),
        [],
        "",
        "   ",
        "\n\t",
        ("a", ""),
        ("", "a"),
        ("a", " "),
        "a\x00b",
        ("a", "\x00"),
        "\ud800",
        ("a", "b\udfff"),
        (1,),
        ("a", None),
        ("a", ("b",)),
        (b"a",),
        b"ab",
        "x" * (MAX_ENCODED_BYTES + 1),
        "\u4e2d" * MAX_ENCODED_BYTES,
        ("a",) * (MAX_LABELS + 1),
        None,
        7,
        {"a"},
        {"a": "b"},
        Ellipsis,
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_cannot_be_a_namespace_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        as_namespace(value)


def test_the_longest_namespace_is_the_one_whose_key_has_4096_bytes() -> None:
    longest = "x" * (MAX_ENCODED_BYTES - len(encode(("",))))
    assert as_namespace(longest) == (longest,)
    with pytest.raises(InvalidInputError, match="4096 bytes"):
        as_namespace(longest + "x")


def test_a_label_of_the_wrong_type_is_named_in_the_error() -> None:
    with pytest.raises(InvalidInputError, match=r"int.*str\(user_id\)"):
        as_namespace(("users", 42))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unseen",
    [chr(code) for code in (0x34F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x2800, 0x3164, 0xFE0F, 0xFFA0)]
    + ["\U000e0100", "\u200b", "\u2060"],
)
def test_a_label_with_nothing_to_see_in_it_is_refused(unseen: str) -> None:
    for label in (unseen, f" {unseen}\t"):
        with pytest.raises(InvalidInputError, match="empty or blank"):
            as_namespace(("users", label))
    assert as_namespace(f"a{unseen}") == (f"a{unseen}",)
