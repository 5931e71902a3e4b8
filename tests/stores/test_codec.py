"""Notes and revisions go into points and come back the same, whatever they hold."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amem_integrations.core import json_value
from amem_integrations.core.filters import All, Match
from amem_integrations.core.namespace import encode
from amem_integrations.core.note import Change, Link, Note, Revision, Status, make_note, note_id
from amem_integrations.core.status import SOURCES, Life, Tier
from amem_integrations.formation import queue
from amem_integrations.stores.checks import (
    MAX_PAYLOAD_DEPTH,
    check_points,
    is_id,
)
from amem_integrations.stores.codec import (
    INDEXES,
    influences,
    link_json,
    micros,
    moment,
    note_from,
    note_point,
    place_of,
    revision_from,
    revision_point,
    within,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OWN = note_id(("n",), "own")

text = st.text(max_size=12)
visible = text.map(lambda value: f"x{value}")
terms = st.lists(visible, max_size=4).map(tuple)
ids = st.sampled_from([note_id(("n",), str(number)) for number in range(6)])
times = st.datetimes(timezones=st.just(UTC))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=10,
).filter(lambda value: "Infinity" not in json.dumps(value))
links = st.builds(
    Link,
    source=st.just(OWN),
    to=ids,
    reason=text,
    created_at=times,
    kind=visible,
    weight=st.floats(0, 1, exclude_min=True),
    used_at=st.none() | times,
)
counts = st.integers(0, 2**40)
recent_times = st.datetimes(datetime(2000, 1, 1), timezones=st.just(UTC))
lives = st.builds(
    Life,
    clean=counts,
    conflicting=counts,
    conflicts=st.lists(times, max_size=5).map(tuple),
    used_at=st.none() | recent_times,
    occasions=st.lists(visible, max_size=8).map(tuple),
    confirmations=counts,
    confirmed_at=st.none() | recent_times,
    supports=counts,
    tiered_at=st.none() | recent_times,
    counted=st.integers(0, 2**60),
)
link_lists = st.lists(links.map(link_json), max_size=2)
changes = st.fixed_dictionaries(
    {},
    optional={
        "content": st.builds(Change, visible, visible),
        "context": st.builds(Change, text, text),
        "keywords": st.builds(Change, st.lists(text, max_size=3), st.lists(text, max_size=3)),
        "tags": st.builds(Change, st.lists(text, max_size=3), st.lists(text, max_size=3)),
        "questions": st.builds(Change, st.lists(text, max_size=3), st.lists(text, max_size=3)),
        "links": st.builds(Change, link_lists, link_lists),
        "status": st.builds(Change, st.sampled_from(Status).map(str), st.just("formed")),
    },
)
revisions = st.builds(
    Revision,
    version=st.integers(1, 2**60),
    kind=st.sampled_from(["formed", "evolved", "updated", "retracted", "reverted"]),
    cause=ids | st.just(OWN),
    at=times,
    analyst=text,
    changes=changes,
    sources=st.lists(ids, max_size=3).map(tuple),
    reason=text,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": st.just(OWN),
    "namespace": st.lists(visible, min_size=1, max_size=3).map(tuple),
    "key": visible,
    "content": visible,
    "created_at": times,
    "updated_at": times,
    "keywords": terms,
    "tags": terms,
    "questions": terms,
    "context": text,
    "links": st.lists(links, max_size=3).map(tuple),
    "speaker": st.none() | visible,
    "session": st.none() | visible,
    "sequence": st.none() | st.integers(-(2**63), 2**63 - 1),
    "source_id": st.none() | visible,
    "position": st.none() | st.integers(0, 2**24),
    "occurred_at": st.none() | times,
    "utc_offset": st.none() | st.integers(-1439, 1439),
    "metadata_json": st.dictionaries(text, json_values, max_size=4).map(
        lambda value: json_value.dumps("metadata", value)
    ),
    "value_json": st.none() | json_values.map(lambda value: json_value.dumps("value", value)),
    "parts": st.none(),
    "ttl": st.none() | st.timedeltas(timedelta(microseconds=1), timedelta(days=4000)),
    "expires_at": st.none() | times,
    "refresh_on_read": st.none() | st.booleans(),
    "status": st.sampled_from(Status),
    "attempts": st.integers(0, 99),
    "last_error": st.none() | visible,
    "revision": st.none() | revisions,
    "confidence": st.floats(0, 1),
    "version": st.integers(1, 2**60),
    "source": st.none() | st.sampled_from(SOURCES),
    "tier": st.sampled_from(Tier),
    "valid_until": st.none() | times,
    "contested_by": st.lists(ids, max_size=3).map(tuple),
    "merged_into": st.none() | ids,
    "trust": st.floats(0, 1),
    "life": lives,
}
TRIED = {
    field.name: FIELDS[field.name] for field in dataclasses.fields(Note) if field.name in FIELDS
}
notes = st.builds(Note, **TRIED)


def a_note(**fields: Any) -> Note:
    return make_note("The cache is full", namespace=("org", "calvin"), now=NOW).evolve(**fields)


def payload(note: Note) -> dict[str, Any]:
    return note_point(note, [[1.0]], None).payload


# -- notes -----------------------------------------------------------------------------------


def test_every_field_of_a_note_is_tried() -> None:
    assert {field.name for field in dataclasses.fields(Note)} == TRIED.keys()


def fits(value: Any) -> bool:
    """Whether every integer in a payload fits 64 bits."""
    match value:
        case dict():
            return all(map(fits, value.values()))
        case list():
            return all(map(fits, value))
        case int():
            return -(2**63) <= value < 2**63
        case _:
            return True


@settings(max_examples=50)
@given(notes)
def test_a_note_comes_back_the_same_through_json(note: Note) -> None:
    point = note_point(note, [], None)
    assert fits(point.payload)
    text = json.dumps(point.payload, ensure_ascii=False, allow_nan=False)
    assert note_from(dataclasses.replace(point, payload=json.loads(text.encode()))) == note


@given(st.lists(visible, min_size=1, max_size=4))
def test_the_parts_of_a_note_come_back(texts: list[str]) -> None:
    fields: dict[str, Any] = {"parts": tuple(map(len, texts)), "content": "\n".join(texts)}
    note = dataclasses.replace(a_note(), **fields)
    assert note_from(note_point(note, [], None)) == note


def test_links_that_others_made_are_not_stored_with_a_note() -> None:
    note = a_note()
    own = Link(note.id, note_id(("n",), "1"), "both", NOW)
    other = Link(note_id(("n",), "2"), note.id, "both", NOW)
    point = note_point(dataclasses.replace(note, links=(other, own)), [], None)
    assert note_from(point).links == (own,)
    assert point.payload["link_ids"] == [own.to]


# -- what is in a payload --------------------------------------------------------------------


@given(st.integers(1, json_value.MAX_DEPTH))
def test_the_deepest_metadata_leaves_a_payload_shallow(depth: int) -> None:
    nested: Any = "x"
    for _ in range(depth - 1):
        nested = {"k": nested}
    note = make_note("x", namespace="n", now=NOW, metadata={"k": nested}, value=nested)
    check_points([note_point(note, [[1.0]], None)], dimension=1)
    assert MAX_PAYLOAD_DEPTH > 3
    assert all(not isinstance(each, dict) for each in payload(note)["numbers"].values())


HOME = ("org", "calvin")


@pytest.mark.parametrize("sequence", [-5, 0, 7, 2**62 - 3])
def test_the_next_turn_of_a_session_has_the_next_place(sequence: int) -> None:
    here, there = place_of(HOME, "s", sequence), place_of(HOME, "s", sequence + 1)
    assert here is not None
    assert there == here + 1 < 2**63
    assert place_of(HOME, "t", sequence + 1) != there != place_of(("other",), "s", sequence + 1)


def test_a_note_without_a_believable_sequence_has_no_place() -> None:
    assert place_of(HOME, None, None) is place_of(HOME, "s", None) is None
    assert place_of(HOME, "s", 2**62) is place_of(HOME, "s", -(2**63)) is None


def test_every_indexed_field_is_one_that_points_have() -> None:
    revision = Revision(2, "formed", OWN, NOW, "x")
    note = make_note(
        "x", namespace="n", now=NOW, speaker="a", session="b", sequence=1, occurred_at=NOW
    ).evolve(revision=revision, source_id="turn", utc_offset=60)
    known = payload(note).keys() | revision_point(note, revision).payload.keys()
    known |= queue.NO_LEASE.keys()
    assert INDEXES.keys() - known <= {"expires_at", "retry_at", "tier", "used_at", "counted"}


def test_a_namespace_is_matched_whole() -> None:
    condition = within(("org", "calvin"), Match("tags", ("x",)))
    assert condition == All((Match("ns", (encode(("org", "calvin")),)), Match("tags", ("x",))))
    assert within(("org",)) == Match("ns", ('["org"]',))


# -- revisions -------------------------------------------------------------------------------


@settings(max_examples=30)
@given(notes, revisions)
def test_a_revision_is_kept_in_a_point_of_its_own(note: Note, revision: Revision) -> None:
    point = revision_point(note, revision)
    assert revision_from(point.payload["revision"]) == revision
    assert point.payload["of"] == note.id
    assert point.payload["owner"] == encode(note.namespace)
    assert point.payload["version"] == revision.version
    # No search scoped to a namespace finds it.
    assert not {"ns", "prefixes"} & point.payload.keys()
    other = revision_point(note, dataclasses.replace(revision, version=revision.version + 1))
    assert is_id(point.id)
    assert point.id == revision_point(note, revision).id != other.id


def test_whoever_had_a_part_in_a_revision_is_named_once_and_the_note_itself_is_not() -> None:
    to = [link_json(Link(OWN, each, "", NOW)) for each in ("c", "d")]
    revision = Revision(
        2, "formed", OWN, NOW, "x", {"links": Change(to[:1], to)}, sources=("b", "a", "b")
    )
    assert influences(OWN, revision) == ["a", "b", "c", "d"]
    evolved = Revision(3, "evolved", "e", NOW, "x", {}, sources=("a",))
    assert influences(OWN, evolved) == ["a", "e"]


# -- times, and the collection itself --------------------------------------------------------


@given(times)
@example(datetime.min.replace(tzinfo=UTC))
@example(datetime.max.replace(tzinfo=UTC))
@example(datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
def test_a_time_comes_back_to_the_microsecond(when: datetime) -> None:
    assert moment(micros(when)) == when
    assert -(2**63) <= micros(when) < 2**63
