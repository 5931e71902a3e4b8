"""The text of a JSON value, with labels and without."""

from typing import Any

import pytest

from amem_integrations.core.value_text import text_without_labels, value_text

VALUES: dict[str, tuple[Any, str, str]] = {
    "one text": ({"likes": "tea"}, "tea", "tea"),
    "one text, deep": ({"a": [{"b": {"c": "tea"}}]}, "tea", "tea"),
    "a schema's": ({"kind": "Memory", "content": {"content": "tea"}}, "tea", "tea"),
    "a schema's fields": (
        {"kind": "User", "content": {"name": "Bea", "city": "Oslo"}},
        "name: Bea\ncity: Oslo",
        "Bea\nOslo",
    ),
    "no schema's": ({"kind": "fact", "text": "tea"}, "kind: fact\ntea", "fact\ntea"),
    "one number": ({"n": 3}, "n: 3", "3"),
    "a label in a text": ({"text": "tea: green", "n": 1}, "tea: green\nn: 1", "tea: green\n1"),
    "nested": (
        {"user": {"name": "Bea", "tags": ["a", 1]}, "ok": True, "none": None, "blank": " "},
        "user.name: Bea\nuser.tags: a, 1\nok: true",
        "Bea\na, 1\ntrue",
    ),
    "objects in a list": ({"s": [{"t": "a"}, {"t": "b"}]}, "s.t: a\ns.t: b", "a\nb"),
    "nothing": ({"a": {}, "b": [], "c": None}, "", ""),
}


@pytest.mark.parametrize(("value", "text", "bare"), VALUES.values(), ids=VALUES)
def test_a_value_is_read_as_lines(value: Any, text: str, bare: str) -> None:
    assert value_text(value) == text
    assert text_without_labels(text, value) == bare


def test_labels_of_something_in_a_value_are_known_too() -> None:
    value = {"user": {"name": "Bea", "city": "Oslo"}}
    assert text_without_labels(value_text(value["user"]), value) == "Bea\nOslo"
