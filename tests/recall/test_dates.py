"""Days that a question names, and how near a time is to them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.recall.dates import Days, days_in

NOW = datetime(2026, 3, 11, 15, 30, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("What did Ann do on 7 May 2023?", Days(2023, 5, 7)),
        ("What did Ann do on the 7th of May, 2023?", Days(2023, 5, 7)),
        ("What happened on May 7th?", Days(None, 5, 7)),
        ("what happened on may 7?", Days(None, 5, 7)),
        ("Where was Ann on Sept. 3, 2022?", Days(2022, 9, 3)),
        ("What was decided on 2023-05-07?", Days(2023, 5, 7)),
        ("What was decided on 2023/05/07?", Days(2023, 5, 7)),
        ("What was decided on 07.05.2023?", Days(2023, 5, 7)),
        ("What was decided on 25/3/2023?", Days(2023, 3, 25)),
        ("What was decided on 3/25/2023?", Days(2023, 3, 25)),
        ("Which books did he read in July 2023?", Days(2023, 7)),
        ("what happened in may?", Days(None, 5)),
        ("Who called last Friday?", Days(2026, 3, 6)),
        ("Who called last Wednesday?", Days(2026, 3, 4)),
        ("Where were they last weekend?", Days(2026, 3, 7, 2)),
        ("Who called last night?", Days(2026, 3, 10)),
        ("Where will they be in May?", Days(None, 5)),
        ("Where did they go in 2022?", Days(2022)),
        ("Who called yesterday?", Days(2026, 3, 10)),
        ("Who called ye\u017fterday?", Days(2026, 3, 10)),
        ("Who called last \u017funday?", Days(2026, 3, 8)),
        ("What is planned for today?", Days(2026, 3, 11)),
        ("What was decided last week?", Days(2026, 3, 2, 7)),
        ("What was decided this week?", Days(2026, 3, 9, 7)),
        ("What was decided last month?", Days(2026, 2)),
        ("What was decided three months ago?", Days(2025, 12)),
        ("What was decided 10 days ago?", Days(2026, 3, 1)),
        ("Where was she a year ago?", Days(2025)),
        ("2023年5月7日发生了什么？", Days(2023, 5, 7)),
        ("5月他去了哪里？", Days(None, 5)),
        ("昨天谁打来电话？", Days(2026, 3, 10)),
        ("上周决定了什么？", Days(2026, 3, 2, 7)),
        ("3天前谁来过？", Days(2026, 3, 8)),
        ("今年去了哪里？", Days(2026)),
    ],
)
def test_dates_are_read_in_several_forms(query: str, days: Days) -> None:
    assert days_in(query, NOW) == days


@pytest.mark.parametrize(
    "query",
    [
        "May I have your order?",
        "what may go wrong?",
        "March on, whatever happens",
        "How many of the 2000 requests failed?",
        "version 2.3.4 on 99-99-99",
        "It is 9/11",
        "on 5/3/2023, whichever is the day",
        "this may be it",
        "99999999 years ago",
        "",
    ],
)
def test_what_only_looks_like_a_date_is_none(query: str) -> None:
    assert days_in(query, NOW) is None


@given(st.text(max_size=80))
def test_any_text_can_be_read(query: str) -> None:
    days = days_in(query, NOW)
    assert days is None or 0 <= days.nearness(NOW) <= 1


def test_a_time_counts_most_within_and_less_the_further_from_it() -> None:
    days = Days(2023, 5, 7)
    within = datetime(2023, 5, 7, 23, tzinfo=UTC)
    assert days.nearness(within) == 1.0
    later = [days.nearness(within + timedelta(days=n)) for n in (2, 7, 30, 300)]
    earlier = [days.nearness(within - timedelta(days=n)) for n in (2, 7, 30, 300)]
    assert 1 > later[0] > later[1] > later[2] > later[3] >= 0
    assert all(before < after for before, after in zip(earlier, later, strict=True))


def test_a_month_holds_all_of_its_days_and_no_year_means_any() -> None:
    assert Days(None, 2).nearness(datetime(2024, 2, 29, 23, tzinfo=UTC)) == 1.0
    assert Days(None, 2).nearness(datetime(2024, 3, 1, tzinfo=UTC)) == pytest.approx(1.0, abs=0.01)
    assert Days(None, 2, 29).nearness(datetime(2023, 2, 28, tzinfo=UTC)) == 1.0


def test_a_year_alone_says_little() -> None:
    assert Days(2023).nearness(datetime(2023, 8, 1, tzinfo=UTC)) < 0.5
    assert Days(2023).nearness(datetime(2024, 1, 1, tzinfo=UTC)) == 0.0
