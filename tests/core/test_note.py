"""Notes and their parts as values: what makes an id, what is refused, what may change."""

import math
import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.hit import Hit
from amem_integrations.core.note import Note, as_utc, make_note, note_id
from amem_integrations.core.values import MAX_CONTENT_BYTES
from amem_integrations.errors import InvalidInputError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EAST, WEST = timezone(timedelta(hours=8)), timezone(timedelta(hours=-8))


def made(content: str = "ok", **fields: Any) -> Note:
    return make_note(content, **{"namespace": "calvin", "now": NOW, **fields})


# -- ids -------------------------------------------------------------------------------------


def test_ids_do_not_change_between_releases() -> None:
    content, home = 'ok "ja" 好', ("org", "calvin")
    assert made(content, namespace=home).id == "85c45fdc-5750-5b1d-99d6-af03b14da466"
    assert (
        made(
            content,
            namespace=home,
            speaker="Ann",
            session="s1",
            sequence=3,
            occurred_at=datetime(2026, 2, 1, 8, tzinfo=UTC),
        ).id
        == "3b30c06f-861e-5c6d-939c-530685d7ff24"
    )
    assert made(content, namespace=home, key="k").id == "3d094c69-232e-5b52-9964-d6b2efc4d833"


def test_a_retried_write_is_the_same_note() -> None:
    said = {"speaker": "Ann", "session": "s1", "sequence": 4, "occurred_at": NOW}
    later = NOW + timedelta(hours=1)
    assert made("ok", **said).id == made("ok", **said, now=later, metadata={"try": 2}).id


@pytest.mark.parametrize(
    "other",
    [
        {"content": "ok "},
        {"content": "OK"},
        {"speaker": "Bob"},
        {"speaker": None},
        {"session": "s2"},
        {"session": None},
        {"sequence": 5},
        {"sequence": None},
        {"occurred_at": NOW + timedelta(microseconds=1)},
        {"occurred_at": None},
        {"namespace": "hobbes"},
        {"namespace": ("calvin", "calvin")},
        {"repetition": 1},
        {"key": "k"},
    ],
    ids=str,
)
def test_what_was_said_by_another_or_elsewhere_is_another_note(other: dict[str, Any]) -> None:
    said = {"content": "ok", "speaker": "Ann", "session": "s1", "sequence": 4, "occurred_at": NOW}
    assert made(**said).id != made(**{**said, **other}).id


def test_the_parts_of_an_utterance_cannot_stand_in_for_each_other() -> None:
    ids = {
        made("a", speaker="b").id,
        made("a", session="b").id,
        made("b", speaker="a").id,
        made("ab").id,
        made('a","b').id,
        made("a", speaker="1").id,
        made("a", session="1").id,
        made("a", sequence=1).id,
        made("a", speaker="None").id,
        made("a").id,
    }
    assert len(ids) == 10


def test_a_key_alone_decides_the_id() -> None:
    assert made("one", key="k", speaker="Ann").id == made("two", key="k", session="s").id
    assert made(key="k").key == "k"


@given(*[st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=4).map(tuple)] * 2)
def test_no_two_addresses_share_an_id(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    ids = [note_id(labels[:-1], labels[-1]) for labels in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)


@pytest.mark.parametrize(
    "moment",
    [datetime(2026, 3, 1, 12), datetime(2026, 3, 1, 20, tzinfo=EAST)],
    ids=["naive", "eastern"],
)
def test_one_instant_is_one_instant_however_it_is_written(moment: datetime) -> None:
    assert made(occurred_at=moment).id == made(occurred_at=NOW).id


# -- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        *("", " ", "\n\t\r", "\u3000", "\u00a0", "\u2003\u2028", "\x00", "\x1b\x07"),
        *("\u200b", "\ufeff", "\u200d\u200c\u2060", "\u202e\u202c", "\u00ad", " \u200b\n\x00"),
    ],
    ids=ascii,
)
def test_content_with_nothing_to_see_is_refused(content: str) -> None:
    with pytest.raises(InvalidInputError, match="content is empty or blank"):
        made(content)


@pytest.mark.parametrize(
    "content",
    [
        *(".", "0", "🎉", "\u200bx", " x ", "\ufeffx", "a\x00b", "\u202eabc", "e\u0301"),
        *("👩‍👩‍👧", "\ue000", "\r\nx\r\n", "x" * 10_000),
    ],
    ids=lambda content: ascii(content)[:16],
)
def test_content_is_kept_as_given(content: str) -> None:
    assert made(content).content == content


@pytest.mark.parametrize("name", ["content", "key", "speaker", "session"])
def test_a_lone_surrogate_is_refused_with_its_place_and_a_remedy(name: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"^{name} .*surrogate at position 2.*replace"):
        made(**{name: "ab\ud83dc"})


@pytest.mark.parametrize("name", ["content", "key", "speaker", "session"])
@pytest.mark.parametrize("bad", [7, b"ok", ["ok"], 1.5, Ellipsis], ids=repr)
def test_text_of_another_type_is_refused_by_name(name: str, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"^{name} must be text; got {type(bad).__name__}"):
        made(**{name: bad})


@pytest.mark.parametrize("name", ["key", "speaker", "session"])
def test_names_may_be_left_out_but_not_be_blank(name: str) -> None:
    assert made(**{name: None}).id == made().id
    with pytest.raises(InvalidInputError, match=f"^{name} is empty"):
        made(**{name: " \u200b"})


@pytest.mark.parametrize("name", ["key", "speaker", "session"])
def test_names_have_at_most_4096_bytes(name: str) -> None:
    assert getattr(made(**{name: "é" * 2048}), name) == "é" * 2048
    with pytest.raises(InvalidInputError, match=f"^{name} has 4098 bytes"):
        made(**{name: "é" * 2049})


def test_content_beyond_the_limit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=f"at most {MAX_CONTENT_BYTES}"):
        made("x" * (MAX_CONTENT_BYTES + 1))


# -- numbers, times and the caller's data ----------------------------------------------------


@pytest.mark.parametrize("sequence", [0, -1, 2**63 - 1, -(2**63)])
def test_a_sequence_is_any_integer_of_64_bits(sequence: int) -> None:
    assert made(sequence=sequence).sequence == sequence


@pytest.mark.parametrize(
    "sequence",
    [2**63, -(2**63) - 1, 10**5000, 1.5, 1.0, math.nan, "1", True, [1]],
    ids=lambda sequence: type(sequence).__name__,
)
def test_any_other_sequence_is_refused(sequence: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^sequence"):
        made(sequence=sequence)


class Unknowing(tzinfo):
    """A zone that does not know its offset: by Python's rules its times are naive."""

    def utcoffset(self, dt: datetime | None) -> None:
        return None


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the local zone cannot be set here")
def test_the_zone_of_the_machine_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        for zone in (None, Unknowing()):
            assert as_utc(datetime(2026, 3, 1, 12, tzinfo=zone)) == NOW
    time.tzset()


zones = st.timezones() | st.integers(-1439, 1439).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.none() | zones))
def test_a_time_becomes_the_same_instant_in_utc(moment: datetime) -> None:
    there = as_utc(moment)
    assert there.tzinfo is UTC
    assert there - (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) == timedelta(0)


@pytest.mark.parametrize(
    "moment", [datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=WEST)]
)
def test_a_time_that_utc_cannot_tell_is_refused(moment: datetime) -> None:
    with pytest.raises(InvalidInputError, match="no equivalent in UTC"):
        made(occurred_at=moment)


@pytest.mark.parametrize("moment", [date(2026, 3, 1), "2026-03-01", 1.0], ids=repr)
def test_what_is_no_time_is_refused(moment: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"datetime; got {type(moment).__name__}"):
        made(occurred_at=moment)


def test_metadata_may_be_any_mapping_and_is_an_object_when_left_out() -> None:
    assert made(metadata=MappingProxyType({"a": 1})).metadata == {"a": 1}
    assert made().metadata == made(metadata={}).metadata == {}
    assert made().value is None


@pytest.mark.parametrize("metadata", [[], "", "ab", 0, 7, [("a", 1)], {"a"}], ids=repr)
def test_metadata_that_is_no_mapping_is_refused(metadata: Any) -> None:
    with pytest.raises(InvalidInputError, match=rf"^metadata .*{type(metadata).__name__}"):
        made(metadata=metadata)


def test_what_the_caller_gave_and_gets_is_its_own_copy() -> None:
    given_ = {"tags": ["a"]}
    note = made(metadata=given_, value=given_)
    given_["tags"].append("b")
    note.metadata["tags"].append("c")
    note.value["tags"].append("d")
    assert note.metadata == note.value == {"tags": ["a"]}


def test_at_a_prompt_a_note_shows_what_is_particular_about_it() -> None:
    note = made("My boat is called Susie", speaker="Bea", key="boat")
    assert repr(note).startswith(f"Note(id={note.id!r}, namespace=")
    assert "content='My boat is called Susie'" in repr(note)
    assert "speaker='Bea'" in repr(note)
    for usual in ("session", "ttl", "merged_into", "life", "revision", "metadata_json"):
        assert f"{usual}=" not in repr(note)
    assert "metadata_json='{" in repr(made(metadata={"a": 1}))
    hit = Hit(note, 1.5, {"meaning": 1.5})
    assert repr(hit) == f"Hit(note={note!r}, score=1.5, why={{'meaning': 1.5}})"
