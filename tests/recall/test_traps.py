"""Questions that trip a search up: empty or endless, in other scripts, with names, days, quotes."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from amem_integrations import AgenticMemory, Hit
from tests.support import open_memory

CHAT = "chat"
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
TURNS = [
    ("Will", "The bakery closes at six.", datetime(2025, 5, 14, tzinfo=UTC)),
    ("May", "My brother repairs violins.", datetime(2025, 5, 14, tzinfo=UTC)),
    ("Will", "I sold the canoe.", datetime(2025, 11, 3, tzinfo=UTC)),
    ("May", "I bought a red canoe.", datetime(2025, 11, 3, tzinfo=UTC)),
    ("Will", "We never eat mushrooms.", datetime(2026, 2, 24, tzinfo=UTC)),
    ("May", "The dentist moved my appointment.", datetime(2026, 3, 1, tzinfo=UTC)),
    ("Will", "🎉🎉 the audition went well", datetime(2026, 3, 1, 12, tzinfo=UTC)),
    ("May", "我们把缓存换成了 Redis。", datetime(2026, 3, 1, 13, tzinfo=UTC)),
]


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        memory.add_many(
            [
                {"content": text, "speaker": speaker, "session": "s", "sequence": place}
                | {"occurred_at": when}
                for place, (speaker, text, when) in enumerate(TURNS)
            ],
            namespace=CHAT,
        )
        yield memory


def found(memory: AgenticMemory, query: str, **settings: object) -> list[Hit]:
    return memory.search(query, namespace=CHAT, **{"at": MONDAY, **settings})  # pyright: ignore[reportArgumentType]


def first(memory: AgenticMemory, query: str) -> str:
    return found(memory, query)[0].note.content


@pytest.mark.parametrize("query", ["the of and is it", "what is it?", "???", "🦑", "\x00"])
def test_a_question_of_no_telling_word_is_answered_by_meaning_alone(
    memory: AgenticMemory, query: str
) -> None:
    hits = found(memory, query)
    assert len(hits) == len(TURNS)
    assert not any("words" in hit.why for hit in hits)


def test_all_of_ten_thousand_words_are_matched(memory: AgenticMemory) -> None:
    query = " ".join([*(f"word{n}" for n in range(9_999)), "violins"])
    hits = found(memory, query)
    assert max(hits, key=lambda hit: hit.why.get("words", 0.0)).note.speaker == "May"
    assert first(memory, query) == "My brother repairs violins."


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("🎉 audition 🎉", "audition"),
        ("Redis 缓存", "Redis"),
        ("缓存", "Redis"),
        ("which REDIS кэш?", "Redis"),
        ("VIOLINS", "violins"),
        ("ｖｉｏｌｉｎｓ violin", "violins"),
        ("vïolins", "violins"),
    ],
)
def test_emoji_and_mixed_scripts_hide_no_word(memory: AgenticMemory, query: str, word: str) -> None:
    assert word in first(memory, query)


@pytest.mark.parametrize(
    ("query", "speaker"),
    [
        ("What about Will and his canoe?", "Will"),
        ("Which canoe did May have?", "May"),
        ("Will the canoe be sold?", None),
        ("Who had a canoe in May?", None),
        ("will may buy a canoe", None),
    ],
)
def test_names_that_are_words_ask_for_a_speaker_only_where_they_are_names(
    memory: AgenticMemory, query: str, speaker: str | None
) -> None:
    asked = {hit.note.speaker for hit in found(memory, query) if "speaker" in hit.why}
    assert asked == ({speaker} if speaker else set())


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("What happened on 14 May 2025?", {14}),
        ("What happened in November 2025?", {3}),
        ("What happened yesterday?", {1}),
        ("What happened last week?", {24, 1}),
        ("What happened 6 days ago?", {24}),
    ],
)
def test_days_count_as_of_the_moment_of_asking(
    memory: AgenticMemory, query: str, days: set[int]
) -> None:
    hits = found(memory, query)
    most = max(hit.why.get("date", 0.0) for hit in hits)
    best = [hit for hit in hits if hit.why.get("date", 0.0) == most]
    assert {hit.note.occurred_at.day for hit in best if hit.note.occurred_at} == days


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("What do they never eat?", "mushrooms"),
        ("Who does not eat mushrooms?", "mushrooms"),
        ('Who said "I sold the canoe"?', "sold"),
        ("Who said “I bought a red canoe”?", "bought"),
        ("'canoe' AND -red OR sold*", "sold"),
        ("don't they repair violins", "violins"),
    ],
)
def test_negations_and_quotes_are_words_and_no_operators(
    memory: AgenticMemory, query: str, word: str
) -> None:
    assert word in first(memory, query)
