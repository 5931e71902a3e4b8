"""Reading a question: whose words it asks for, and what is left of it to be matched."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.recall.query import read_question

NOW = datetime(2026, 3, 11, tzinfo=UTC)
TWO = ("Ann Lee", "Ben")
CHAT = ("user", "assistant")


@pytest.mark.parametrize(
    ("query", "text", "about"),
    [
        ("What does Ann like?", "What does like?", {"Ann Lee": 1.0}),
        ("What does Ann Lee like?", "What does like?", {"Ann Lee": 1.0}),
        ("Where is Ben's kayak?", "Where is kayak?", {"Ben": 1.0}),
        ("Where is Ben\u2019s kayak?", "Where is kayak?", {"Ben": 1.0}),
        ("where is ben now?", "where is now?", {"Ben": 1.0}),
        ("Did Ann meet Ben?", "Did meet ?", {}),
        ("Where is the bench?", "Where is the bench?", {}),
        ("Where is Bennet?", "Where is Bennet?", {}),
        ("Ann", "Ann", {"Ann Lee": 1.0}),
    ],
)
def test_a_named_speaker_is_asked_about_and_not_matched(
    query: str, text: str, about: dict[str, float]
) -> None:
    question = read_question(query, TWO, NOW)
    assert (question.text, question.about) == (text, about)


@pytest.mark.parametrize(
    ("speaker", "query", "named"),
    [
        ("Ünal", "what did ünal say?", True),
        ("Zoë", "Where is Zoë's kayak?", True),
        ("Zoë", "Where is the Zoëtrope?", False),
        ("Иван", "Что сказал Иван?", True),
        ("Иван", "что сказал иван?", True),
        ("李雷", "李雷说了什么", True),
    ],
)
def test_names_of_any_script_are_known(speaker: str, query: str, named: bool) -> None:
    assert read_question(query, (speaker, "Ann"), NOW).named is named


def test_a_whole_name_means_nobody_else_of_that_first_name() -> None:
    both = ("Ann Lee", "Ann Smith")
    assert read_question("What does Ann like?", both, NOW).about == dict.fromkeys(both, 1.0)
    assert read_question("What does Ann Lee like?", both, NOW).about == {"Ann Lee": 1.0}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("Will the cache be replaced?", False),
        ("When will the cache be replaced?", False),
        ("What did Will replace?", True),
        ("May I ask what happened?", False),
        ("What does May think?", True),
        ("Were they there in May?", False),
        ("Were they there on 5 May?", False),
    ],
)
def test_names_that_are_words_too_name_nobody_where_they_are_words(query: str, named: bool) -> None:
    assert bool(read_question(query, ("Will", "May", "Ann"), NOW).about) is named


def test_a_person_and_a_month_of_one_name_are_told_apart() -> None:
    question = read_question("What did May buy in May?", ("May", "Ann"), NOW)
    assert question.about == {"May": 1.0}
    assert question.text == "What did buy in May?"
    assert question.days is not None
    assert question.days.start.month == 5
    assert read_question("What did May buy?", ("May", "Ann"), NOW).days is None


@pytest.mark.parametrize(
    ("query", "about"),
    [
        ("Which cache did I choose?", {"user": 1.0}),
        ("which cache did we choose?", {"user": 1.0}),
        ("Which cache did you advise me to use?", {"user": 0.4}),
        ("你给我推荐了哪个缓存？", {"user": 0.4}),
        ("Which cache did you advise?", {}),
        ("Which cache is used in the US?", {}),
        ("What does the update fix?", {}),
    ],
)
def test_with_an_assistant_who_says_i_asks_for_what_users_said(
    query: str, about: dict[str, float]
) -> None:
    assert read_question(query, CHAT, NOW).about == about


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=4))
def test_any_question_and_any_speakers_can_be_read(query: str, speakers: list[str]) -> None:
    question = read_question(query, speakers, NOW)
    assert question.about.keys() <= set(speakers)
    assert question.text or not query
