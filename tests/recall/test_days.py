"""A question that names a day, a week or a month finds what happened then first."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from amem_integrations import AgenticMemory
from tests.support import open_memory

HAWAII = timezone(timedelta(hours=-10))
AT = datetime(2026, 12, 1, 10, tzinfo=ZoneInfo("Europe/Berlin"))  # a Tuesday
FIRST = datetime(2026, 11, 1, 9, tzinfo=UTC)
DONE = (
    *("I fixed the bike", "Bea called about the roof", "I had lunch at the harbour with Carl"),
    *("We went to the cinema", "I read about tides and currents for most of the evening"),
)


@pytest.fixture(scope="module")
def diary() -> Iterator[AgenticMemory]:
    """Thirty days of the same five notes."""
    with open_memory(embedder=None, formation="off") as memory:
        memory.add_many(
            [
                {
                    "content": text,
                    "key": f"{day} {hour}",
                    "occurred_at": FIRST + timedelta(days=day, hours=2 * hour),
                }
                for day in range(30)
                for hour, text in enumerate(DONE)
            ]
        )
        yield memory


@pytest.fixture
def memory(raw_memory: AgenticMemory) -> AgenticMemory:
    return raw_memory


def share(diary: AgenticMemory, query: str, first: int, end: int) -> float:
    """Of the notes of these days of November, as many as there are places, the share found."""
    wanted = 5 * (end - first)
    hits = diary.search(query, k=wanted, at=AT)
    days = [hit.note.local_time.day for hit in hits]
    return sum(first <= day < end for day in days) / wanted


@pytest.mark.parametrize(
    ("query", "first", "end"),
    [
        ("What did I do on 20 November 2026?", 20, 21),
        ("What did I do on 2026-11-20?", 20, 21),
        ("What did I do on November 9th?", 9, 10),
        ("Did I fix the bike or go to the cinema yesterday?", 30, 31),
        ("What did I do yesterday?", 30, 31),
        ("What did I do the day before yesterday?", 29, 30),
        ("What did I do three days ago?", 28, 29),
        ("What did I do last Friday?", 27, 28),
        ("Whom did I have lunch with last Friday?", 27, 28),
        ("Was habe ich am 9. November 2026 gemacht?", 9, 10),
        ("Was habe ich vorgestern gemacht?", 29, 30),
        ("¿Qué hice anteayer?", 29, 30),
        ("Qu'ai-je fait avant-hier ?", 29, 30),
        ("三天前我做了什么？", 28, 29),
        ("上周五我做了什么？", 27, 28),
        ("一昨日は何をした？", 29, 30),
        ("What did I do last week?", 23, 30),
        ("Was habe ich letzte Woche gemacht?", 23, 30),
        ("先週は何をした？", 23, 30),
    ],
)
def test_what_happened_then_comes_first(
    diary: AgenticMemory, query: str, first: int, end: int
) -> None:
    named = share(diary, query, first, min(end, 31))
    assert named >= 0.8


@pytest.mark.parametrize("query", ["What did I do in October?", "What did I do two months ago?"])
def test_a_month_comes_first_among_others(memory: AgenticMemory, query: str) -> None:
    memory.add_many(
        [
            {"content": text, "key": f"{month} {n}", "occurred_at": datetime(2026, month, 1 + n)}
            for month in range(5, 13)
            for n, text in enumerate(DONE * 3)
        ]
    )
    hits = memory.search(query, k=15, at=AT)
    months = [hit.note.local_time.month for hit in hits]
    assert months.count(10) >= 12


def test_the_answer_of_a_day_is_found_among_thousands_of_notes_in_other_words(
    memory: AgenticMemory,
) -> None:
    """Neither its words nor its meaning have anything to do with the question."""
    memory.add_many(
        [
            {"content": f"What I did: chore {n}", "occurred_at": FIRST - timedelta(days=n)}
            for n in range(1000)
        ]
    )
    memory.add("Carl, harbour, noodles", occurred_at=FIRST + timedelta(days=9))
    [hit] = memory.search("What did I do on 10 November 2026?", k=1, at=AT)
    assert hit.note.content == "Carl, harbour, noodles"


def test_talk_of_a_day_follows_what_happened_on_it(memory: AgenticMemory) -> None:
    days = {"the day": 20, "after it": 21, "long after": 28, "before": 19}
    for text, day in days.items():
        memory.add(f"A walk, {text}", occurred_at=datetime(2026, 11, day, 12))
    hits = memory.search("The walk on 20 November 2026", at=AT)
    assert [hit.note.content for hit in hits[:2]] == ["A walk, the day", "A walk, after it"]


def test_the_days_of_a_note_are_those_of_the_offset_that_was_given(memory: AgenticMemory) -> None:
    evening = datetime(2026, 3, 1, 20, tzinfo=HAWAII)
    memory.add("The tide was high", occurred_at=evening)
    memory.add("The tide was low", occurred_at=evening + timedelta(hours=12))
    note = memory.recent()[-1]
    assert (note.occurred_at, note.utc_offset) == (evening, -600)
    assert note.local_time.isoformat() == "2026-03-01T20:00:00-10:00"
    first, second = (
        memory.search(f"How was the tide on {day} March 2026?", k=1)[0].note.content
        for day in (1, 2)
    )
    assert (first, second) == ("The tide was high", "The tide was low")
    assert "2026-03-01" in memory.pack(memory.search("high tide", k=1), 200)


def test_an_offset_survives_an_export_and_an_update(memory: AgenticMemory) -> None:
    memory.add("The tide was high", occurred_at=datetime(2026, 3, 1, 20, tzinfo=HAWAII), key="k")
    memory.admin.import_(list(memory.admin.export("default")), namespace="other")
    assert memory.update(key="k", content="The tide was low").utc_offset == -600
    copied = memory.get(key="k", namespace="other")
    assert copied is not None
    assert copied.utc_offset == -600


@pytest.mark.parametrize(
    ("zone", "content"), [("Pacific/Honolulu", "The tide was high"), ("UTC", "The tide was low")]
)
def test_the_days_of_times_in_utc_are_those_of_whoever_asks(
    memory: AgenticMemory, zone: str, content: str
) -> None:
    memory.add("The tide was high", occurred_at=datetime(2026, 3, 2, 6, tzinfo=UTC))
    memory.add("The tide was low", occurred_at=datetime(2026, 3, 1, 6, tzinfo=UTC))
    at = datetime(2026, 3, 3, 6, tzinfo=ZoneInfo("UTC")).astimezone(ZoneInfo(zone))
    [hit] = memory.search("How was the tide on 1 March 2026?", k=1, at=at)
    assert hit.note.content == content
