"""Lines that are none of an export are refused, each with its number and what is wrong."""

import json
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError, InvalidLineError
from tests.lifecycle.engines import changed

DEEP: Any = []
for _ in range(101):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "note is not an object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"key": NaN}', "NaN is not a number"),
        ('{"key": 1' + "0" * 5000 + "}", "not JSON"),
        (b"\xff\xfe{", r"not UTF-8 \(byte 0\)"),
        ('"' + "x" * 10_000_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_note_is_refused(
    lines: list[str], target: AgenticMemory, line: str | bytes, said: str
) -> None:
    with pytest.raises(InvalidLineError, match=rf"^Line 2: (it|note) .*{said}|^Line 2: {said}"):
        target.admin.import_([lines[0], line])
    assert target.count() == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"key": None}, "note has no 'key'"),
        ({"id": "6f0e9a3e-5d0c-5b7e-9d55-0a6d656d6e6f"}, "unknown field 'id'"),
        ({"namespace": ["b"]}, "unknown field 'namespace'"),
        ({"key": "\ud800"}, "key is not valid Unicode"),
        ({"key": "k" * 5000}, "key has 5000 bytes"),
        ({"content": " "}, "content is empty or blank"),
        ({"content": "x" * (17 * 1024 * 1024)}, "content has 17825792 bytes"),
        ({"metadata": {"deep": DEEP}}, "metadata is nested more than 100 levels"),
        ({"metadata": []}, "metadata is not an object"),
        ({"metadata": {"x": 1e999}}, "not JSON"),
        ({"value": {"x": "y" * (9 * 1024 * 1024)}}, "value takes more than"),
        ({"sequence": 2**63}, "sequence is not a whole number"),
        ({"version": True}, "version is not a whole number"),
        ({"version": 1}, "behind its revision"),
        ({"confidence": 2}, "confidence is not a number from 0 to 1"),
        ({"created_at": "yesterday"}, "created_at is not a time"),
        ({"occurred_at": "9999-12-31T23:59:59-23:00"}, "occurred_at is not a time"),
        ({"status": "done"}, "status is none of raw, "),
        ({"keywords": "abc"}, "keywords is not a list"),
        ({"keywords": ["k"] * 33}, "keywords has 33 entries; at most 32"),
        ({"tags": ["t"] * 100_000}, "tags has 100000 entries; at most 32"),
        ({"tags": ["é" * 201]}, r"tags\[0\] has 201 characters; at most 200"),
        ({"tags": ["t" * 5000]}, r"tags\[0\] has 5000 bytes"),
        ({"context": "c" * 4001}, "context has 4001 characters; at most 4000"),
        ({"speaker": ""}, "speaker is empty or blank"),
        ({"session": "\u200b"}, "session is empty or blank"),
        ({"contested_by": ["k"] * 10_001}, "contested_by has 10001 entries"),
        ({"links": [0] * 10_001}, "links has 10001 entries; at most 10000"),
        ({"revisions": [0] * 20_000}, "revisions has 20000 entries; at most 10000"),
        ({"parts": [3]}, "parts add up to 3"),
        ({"ttl": 0}, "ttl is no time at all"),
        ({"ttl": 10**20}, "ttl is not a number"),
        ({"links": [{"to": "x"}]}, r"links\[0\] has no 'reason'"),
        ({"revisions": [1]}, r"revisions\[0\] is not an object"),
    ],
)
def test_a_field_that_cannot_be_stored_is_named(
    lines: list[str], target: AgenticMemory, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidLineError, match=said):
        target.admin.import_(changed(lines, 2, **fields))
    assert target.count() == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("tags", ["t"] * 33, "at most 32"),
        ("keywords", ["k" * 201], "at most 200"),
        ("context", "c" * 4001, "at most 4000"),
        ("links", [0] * 10_001, "at most 10000"),
    ],
)
def test_what_an_undo_would_bring_back_has_the_same_bounds(
    lines: list[str], target: AgenticMemory, name: str, value: Any, said: str
) -> None:
    *older, last = json.loads(lines[2])["revisions"]
    last["changes"][name] = [value, json.loads(lines[2])[name]]
    with pytest.raises(InvalidLineError, match=rf"revisions\[{len(older)}\].*{name}.*{said}"):
        target.admin.import_(changed(lines, 2, revisions=[*older, last]))


@pytest.mark.parametrize(
    ("weight", "said"), [(0, "weight lies in"), (1.5, "not a number"), ("1", "not a number")]
)
def test_a_link_that_cannot_be_is_refused(
    lines: list[str], target: AgenticMemory, weight: Any, said: str
) -> None:
    [link] = json.loads(lines[2])["links"]
    with pytest.raises(InvalidLineError, match=said):
        target.admin.import_(changed(lines, 2, links=[{**link, "weight": weight}]))


def test_no_note_can_be_linked_to_itself_or_twice(lines: list[str], target: AgenticMemory) -> None:
    line = json.loads(lines[2])
    [link] = line["links"]
    for links in ([link, link], [{**link, "to": line["key"]}]):
        with pytest.raises(InvalidLineError, match=r"Line 3: .*link"):
            target.admin.import_(changed(lines, 2, links=links))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("{}", "no header of an export"),
        ("[]", "no header of an export"),
        ('{"format": "amem-notes", "format_version": 2}', "has version 2 of the format"),
        ('{"format": "amem-notes", "format_version": 1}', "header has no 'namespace'"),
        (
            '{"format": "amem-notes", "format_version": 1, "namespace": [], "package": ""}',
            "at least one label",
        ),
        (
            '{"format": "amem-notes", "format_version": 1, "namespace": [1], "package": ""}',
            "namespace is not text",
        ),
    ],
)
def test_lines_without_a_good_header_are_refused(
    lines: list[str], target: AgenticMemory, header: str, said: str
) -> None:
    with pytest.raises(InvalidLineError, match=rf"Line 1: .*{said}.*Nothing was imported"):
        target.admin.import_([header, *lines[1:]])
    assert target.count() == 0


def test_no_lines_at_all_are_no_export(target: AgenticMemory) -> None:
    with pytest.raises(InvalidLineError, match="not even a header"):
        target.admin.import_([])


def test_a_text_in_place_of_its_lines_is_refused(lines: list[str], target: AgenticMemory) -> None:
    with pytest.raises(InvalidInputError, match="lines of an export"):
        target.admin.import_("\n".join(lines))
