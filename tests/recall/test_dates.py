"""Days that a question names in six languages, and how near a time is to them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.values import on_clock
from amem_integrations.recall.dates import days_in
from amem_integrations.recall.days import Days
from tests.support import check_linear, cpu_seconds

AT = datetime(2026, 12, 1, 10, tzinfo=ZoneInfo("Europe/Berlin"))  # a Tuesday

PHRASES: dict[str, list[tuple[str, str]]] = {
    "en": [
        ("What did I do on 2026-11-20?", "2026-11-20"),
        ("What did I do on 2026/11/20?", "2026-11-20"),
        ("What was said at 2026-11-20T18:30?", "2026-11-20"),
        ("What happened in 2026-11?", "2026-11"),
        ("What did I do on 20 November 2026?", "2026-11-20"),
        ("What did I do on 20 Nov 2026?", "2026-11-20"),
        ("What did I do on November 20, 2026?", "2026-11-20"),
        ("what did i do on november 20th", "2026-11-20"),
        ("What did Ann do on November 9th?", "2026-11-09"),
        ("What did Ann do on the 9th of November?", "2026-11-09"),
        ("Where was Ann on Sept. 3, 2022?", "2022-09-03"),
        ("What did we plan for December 24?", "2025-12-24"),
        ("What was decided on 25/3/2023?", "2023-03-25"),
        ("What was decided on 3/25/2023?", "2023-03-25"),
        ("What happened on the 20th?", "2026-11-20"),
        ("What is on today?", "2026-12-01"),
        ("What did I eat this morning?", "2026-12-01"),
        ("What did I do yesterday?", "2026-11-30"),
        ("what did i do ye\u017fterday", "2026-11-30"),
        ("Who called last night?", "2026-11-30"),
        ("What did I do the day before yesterday?", "2026-11-29"),
        ("What is planned for tomorrow?", "2026-12-02"),
        ("And the day after tomorrow?", "2026-12-03"),
        ("What did I fix three days ago?", "2026-11-28"),
        ("What did I fix 10 days ago?", "2026-11-21"),
        ("What did I fix a couple of days ago?", "2026-11-29"),
        ("What did we decide two weeks ago?", "2026-11-16..23"),
        ("What did we decide three months ago?", "2026-09"),
        ("Where was she a year ago?", "2025"),
        ("Who called last Friday?", "2026-11-27"),
        ("Who called last Tuesday?", "2026-11-24"),
        ("Who called on Friday?", "2026-11-27"),
        ("Who called on Tuesday?", "2026-12-01"),
        ("Who called on Friday last week?", "2026-11-27"),
        ("Who comes this Friday?", "2026-12-04"),
        ("Who comes next Monday?", "2026-12-07"),
        ("What did we do last weekend?", "2026-11-28..30"),
        ("What did we do last week?", "2026-11-23..30"),
        ("What did we do this week?", "2026-11-30..07"),
        ("What did we do the week before last?", "2026-11-16..23"),
        ("What is on next week?", "2026-12-07..14"),
        ("What did I do in the last three days?", "2026-11-28..02"),
        ("What did I do over the past two weeks?", "2026-11-17..02"),
        ("What did I read in March?", "2026-03"),
        ("what happened in may?", "2026-05"),
        ("Which books did he read in July 2023?", "2023-07"),
        ("What did we buy last March?", "2026-03"),
        ("What did I spend this month?", "2026-12"),
        ("What did I spend last month?", "2026-11"),
        ("Where did they go in 2022?", "2022"),
        ("Where did they go last year?", "2025"),
    ],
    "de": [
        ("Was war am 9. November 2026?", "2026-11-09"),
        ("Was war am 9. November?", "2026-11-09"),
        ("Was war am 20.11.2026?", "2026-11-20"),
        ("Was war am 20.11.?", "2026-11-20"),
        ("Was habe ich heute gemacht?", "2026-12-01"),
        ("Was habe ich gestern gemacht?", "2026-11-30"),
        ("Was habe ich vorgestern gemacht?", "2026-11-29"),
        ("Was steht morgen an?", "2026-12-02"),
        ("Was ist übermorgen?", "2026-12-03"),
        ("Was habe ich vor drei Tagen repariert?", "2026-11-28"),
        ("Was war vor einer Woche?", "2026-11-23..30"),
        ("Was war vor zwei Monaten?", "2026-10"),
        ("Wer hat letzten Freitag angerufen?", "2026-11-27"),
        ("Wer hat am Freitag angerufen?", "2026-11-27"),
        ("Wer kommt nächsten Montag?", "2026-12-07"),
        ("Was war letzte Woche?", "2026-11-23..30"),
        ("Was war vorletzte Woche?", "2026-11-16..23"),
        ("Was haben wir diese Woche besprochen?", "2026-11-30..07"),
        ("Wo waren wir letztes Wochenende?", "2026-11-28..30"),
        ("Was habe ich im März gelesen?", "2026-03"),
        ("Was geschah im Mai 2023?", "2023-05"),
        ("Was haben wir diesen Monat ausgegeben?", "2026-12"),
        ("Was haben wir letzten Monat ausgegeben?", "2026-11"),
        ("Wo waren wir letztes Jahr?", "2025"),
        ("Was habe ich in den letzten drei Tagen gemacht?", "2026-11-28..02"),
    ],
    "es": [
        ("¿Qué hice el 20 de noviembre de 2026?", "2026-11-20"),
        ("¿Qué hice el 9 de noviembre?", "2026-11-09"),
        ("¿Qué hice hoy?", "2026-12-01"),
        ("¿Qué hice ayer?", "2026-11-30"),
        ("¿Quién llamó anoche?", "2026-11-30"),
        ("¿Qué hice anteayer?", "2026-11-29"),
        ("¿Qué hice antes de ayer?", "2026-11-29"),
        ("¿Qué hay mañana?", "2026-12-02"),
        ("¿Qué hay pasado mañana?", "2026-12-03"),
        ("¿Qué arreglé hace tres días?", "2026-11-28"),
        ("¿Qué pasó hace dos semanas?", "2026-11-16..23"),
        ("¿Quién llamó el viernes pasado?", "2026-11-27"),
        ("¿Quién llamó el miércoles?", "2026-11-25"),
        ("¿Qué hicimos la semana pasada?", "2026-11-23..30"),
        ("¿Qué hicimos esta semana?", "2026-11-30..07"),
        ("¿Qué hicimos el fin de semana pasado?", "2026-11-28..30"),
        ("¿Qué leí en marzo?", "2026-03"),
        ("¿Qué pasó en mayo de 2023?", "2023-05"),
        ("¿Cuánto gasté este mes?", "2026-12"),
        ("¿Cuánto gasté el mes pasado?", "2026-11"),
        ("¿Dónde estuvimos el año pasado?", "2025"),
        ("¿Qué hice en los últimos tres días?", "2026-11-28..02"),
    ],
    "fr": [
        ("Qu'est-ce que j'ai fait le 20 novembre 2026 ?", "2026-11-20"),
        ("Qu'ai-je fait le 1er novembre ?", "2026-11-01"),
        ("Qu'ai-je fait aujourd\u2019hui ?", "2026-12-01"),
        ("Qu'ai-je fait hier ?", "2026-11-30"),
        ("Qui a appelé hier soir ?", "2026-11-30"),
        ("Qu'ai-je fait avant-hier ?", "2026-11-29"),
        ("Qu'est-ce qui est prévu demain ?", "2026-12-02"),
        ("Et après-demain ?", "2026-12-03"),
        ("Qu'ai-je réparé il y a trois jours ?", "2026-11-28"),
        ("Que s'est-il passé il y a deux mois ?", "2026-10"),
        ("Qui a appelé vendredi dernier ?", "2026-11-27"),
        ("Qui a appelé mercredi ?", "2026-11-25"),
        ("Qu'avons-nous fait la semaine dernière ?", "2026-11-23..30"),
        ("Qu'avons-nous fait cette semaine ?", "2026-11-30..07"),
        ("Qu'avons-nous fait le week-end dernier ?", "2026-11-28..30"),
        ("Qu'ai-je lu en mars ?", "2026-03"),
        ("Que s'est-il passé en août 2023 ?", "2023-08"),
        ("Combien ai-je dépensé ce mois-ci ?", "2026-12"),
        ("Combien ai-je dépensé le mois dernier ?", "2026-11"),
        ("Où étions-nous l'année dernière ?", "2025"),
        ("Qu'ai-je fait ces trois derniers jours ?", "2026-11-28..02"),
    ],
    "zh": [
        ("2026年11月20日我做了什么？", "2026-11-20"),
        ("11月20号我做了什么？", "2026-11-20"),
        ("十一月二十日我做了什么？", "2026-11-20"),
        ("今天有什么安排？", "2026-12-01"),
        ("昨天谁打来电话？", "2026-11-30"),
        ("昨晚谁打来电话？", "2026-11-30"),
        ("前天我做了什么？", "2026-11-29"),
        ("大前天我做了什么？", "2026-11-28"),
        ("明天有什么安排？", "2026-12-02"),
        ("三天前我修了什么？", "2026-11-28"),
        ("3天前谁来过？", "2026-11-28"),
        ("十天之前谁来过？", "2026-11-21"),
        ("两周前决定了什么？", "2026-11-16..23"),
        ("三个月前决定了什么？", "2026-09"),
        ("上周五谁打来电话？", "2026-11-27"),
        ("上个星期五谁打来电话？", "2026-11-27"),
        ("周五谁打来电话？", "2026-11-27"),
        ("下周一谁来？", "2026-12-07"),
        ("上周决定了什么？", "2026-11-23..30"),
        ("上週決定了什麼？", "2026-11-23..30"),
        ("上上周决定了什么？", "2026-11-16..23"),
        ("这周决定了什么？", "2026-11-30..07"),
        ("上周末我们去了哪里？", "2026-11-28..30"),
        ("5月他去了哪里？", "2026-05"),
        ("三月我读了什么？", "2026-03"),
        ("这个月花了多少？", "2026-12"),
        ("上个月花了多少？", "2026-11"),
        ("去年去了哪里？", "2025"),
        ("最近三天我做了什么？", "2026-11-28..02"),
    ],
    "ja": [
        ("2026年11月20日に何をした？", "2026-11-20"),
        ("１１月２０日に何をした？", "2026-11-20"),
        ("今日の予定は？", "2026-12-01"),
        ("昨日は何をした？", "2026-11-30"),
        ("きのうは何をした？", "2026-11-30"),
        ("一昨日は何をした？", "2026-11-29"),
        ("おとといは何をした？", "2026-11-29"),
        ("明日の予定は？", "2026-12-02"),
        ("三日前に何を直した？", "2026-11-28"),
        ("3日前に何を直した？", "2026-11-28"),
        ("2週間前に何を決めた？", "2026-11-16..23"),
        ("三か月前に何を決めた？", "2026-09"),
        ("先週の金曜日に誰が電話した？", "2026-11-27"),
        ("金曜日に誰が電話した？", "2026-11-27"),
        ("先週は何をした？", "2026-11-23..30"),
        ("先々週は何をした？", "2026-11-16..23"),
        ("今週は何をした？", "2026-11-30..07"),
        ("先週末はどこへ行った？", "2026-11-28..30"),
        ("3月に何を読んだ？", "2026-03"),
        ("今月はいくら使った？", "2026-12"),
        ("先月はいくら使った？", "2026-11"),
        ("去年どこへ行った？", "2025"),
    ],
}
UNDATED = (
    *("May I ask you something?", "what may go wrong?", "this may be it", "March on, then"),
    *("What was the second option?", "Who said it in the first place?", "Wait a second"),
    *("How many of the 2000 requests failed?", "version 2.3.4 on 99-99-99", "It is 9/11"),
    *("on 5/3/2023, whichever is the day", "99999999 years ago", "", "Did Mark sit on the sofa?"),
    *("What do we do every Friday?", "Is Mars a planet?", "Who likes mayo?", "the year is long"),
    *("How do I make a fire now?", "What holds the day together?", "I have 3 days off"),
    *("Guten Morgen!", "Was mache ich am Morgen?", "Was ist hier passiert?", "Jeden Freitag?"),
    *("¿Qué hago por la mañana?", "¿Cuántos días tiene un año?", "el primer piso"),
    *("Que fait-on le vendredi ?", "tous les vendredis", "la deuxième option"),
    *("每周五做什么？", "一周一次的会", "第二个选项是什么？", "晚上月亮很圆", "三个月的房租"),
    *("毎週金曜日は何をする？", "二番目の案は？", "100日間の旅", "2日間休む"),
)


def period(text: str) -> tuple[datetime, datetime]:
    """A day, month or year as ISO has it; or the first day and the day of the month after it."""
    first, _, last = text.partition("..")
    numbers = [int(part) for part in first.split("-")]
    year, month, day = (*numbers, 1, 1)[:3]
    start = datetime(year, month, day)
    if last:
        end = start + timedelta(days=1)
        while end.day != int(last):
            end += timedelta(days=1)
        return start, end
    if len(numbers) == 3:
        return start, start + timedelta(days=1)
    following = (year + 1, 1) if len(numbers) == 1 or month == 12 else (year, month + 1)
    return start, datetime(*following, 1)


@pytest.mark.parametrize(("query", "named"), [pair for pairs in PHRASES.values() for pair in pairs])
def test_days_weeks_months_and_years_are_read(query: str, named: str) -> None:
    days = days_in(query, AT)
    assert days is not None
    assert (days.start, days.end) == period(named)


@pytest.mark.parametrize("query", UNDATED)
def test_what_only_looks_like_a_date_is_none(query: str) -> None:
    assert days_in(query, AT) is None


@pytest.mark.parametrize(
    ("zone", "today"),
    [("Pacific/Honolulu", 1), ("UTC", 2), ("Europe/Berlin", 2), ("Pacific/Auckland", 2)],
)
def test_days_are_those_of_whoever_asks(zone: str, today: int) -> None:
    at = datetime(2026, 3, 2, 9, tzinfo=UTC).astimezone(ZoneInfo(zone))
    days = days_in("What did I do today?", at)
    assert days is not None
    assert days.start == datetime(2026, 3, today)
    assert days.nearness(days.local(at)) == 1


def test_a_time_is_of_the_day_of_its_own_offset() -> None:
    """20:00 of 1 March in Honolulu is 2 March in UTC."""
    when = datetime(2026, 3, 2, 6, tzinfo=UTC)
    days = days_in("What did I do on 1 March 2026?", AT)
    assert days is not None
    assert days.nearness(days.local(on_clock(when, -600))) == 1
    assert days.nearness(days.local(when)) < 1
    in_honolulu = days_in("What about 1 March 2026?", AT.astimezone(ZoneInfo("Pacific/Honolulu")))
    assert in_honolulu is not None
    assert in_honolulu.nearness(in_honolulu.local(when)) == 1


@given(st.text(max_size=80))
def test_any_text_can_be_read(query: str) -> None:
    days = days_in(query, AT)
    assert days is None or 0 <= days.nearness(datetime(2026, 12, 1)) <= 1


@pytest.mark.parametrize("query", ["in the year 0001-01-01", "900 years ago", "am 31.12.9999"])
def test_days_at_the_ends_of_the_calendar_are_harmless(query: str) -> None:
    days = days_in(query, AT)
    for year in (1, 2026, 9999):
        assert days is None or 0 <= days.nearness(datetime(year, 1, 1)) <= 1
    assert days is None or all(start < end for start, end in days.spans())


def test_a_time_counts_most_within_and_less_the_further_from_it() -> None:
    days = Days(datetime(2023, 5, 7), datetime(2023, 5, 8))
    within = datetime(2023, 5, 7, 12)
    assert days.nearness(within) == 1.0
    later = [days.nearness(within + timedelta(days=n)) for n in (1, 7, 30, 300)]
    earlier = [days.nearness(within - timedelta(days=n)) for n in (1, 7, 30, 300)]
    assert 0.8 > later[0] > later[1] > later[2] > later[3] >= 0
    assert all(before < after for before, after in zip(earlier, later, strict=True))


def test_a_month_without_a_year_is_that_of_any_year_the_last_first() -> None:
    days = days_in("Where were they in February?", AT)
    assert days is not None
    assert days.nearness(datetime(2026, 2, 28, 23)) == 1.0
    assert 1.0 > days.nearness(datetime(2024, 2, 29, 23)) > 0.8
    assert days.nearness(datetime(2026, 3, 1)) < 0.8
    leap = days_in("Where were they on 29 February?", AT)
    assert leap is not None
    assert 0.8 < leap.nearness(datetime(2020, 2, 29, 12)) <= 1


def test_a_year_alone_says_little() -> None:
    days = days_in("What happened in 2023?", AT)
    assert days is not None
    assert days.nearness(datetime(2023, 8, 1)) < 0.5
    assert days.nearness(datetime(2024, 1, 1)) == 0.0


def test_a_question_is_read_in_a_moment() -> None:
    """Recall takes milliseconds; reading a long text stays linear."""
    query = "What did Ann and Ben tell us about the ferry on the day before yesterday?"
    assert cpu_seconds(lambda: [days_in(query, AT) for _ in range(100)]) < 0.1
    check_linear(lambda size: days_in("last 3 三 月 11 mai " * (size // 20), AT), 80_000)
