"""The report: the set-up, ranks, k advised, and our rows beside the paper's, in both forms."""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.report import (
    as_dict,
    draw_categories,
    paper_model,
    paper_row,
    save,
    sweep,
)
from amem_integrations.evaluation.qa.report import page as render
from amem_integrations.evaluation.qa.run import Asked
from amem_integrations.evaluation.qa.scoring import CATEGORIES, Scored, mean_ranks, score
from amem_integrations.evaluation.qa.system import Answer, Budget
from tests.support import EMBEDDER

ASKED = [
    (
        talk,
        Question(
            f"{category}?", ("t1",), category, core=category != "adversarial", answer="an old boat"
        ),
    )
    for talk in (Conversation("one", (), ()), Conversation("two", (), ()))
    for category in CATEGORIES
]
SETUP: dict[str, Any] = {
    "version": "1",
    "python": "3",
    "libraries": {"nltk": "3"},
    "data": {
        "format": "locomo",
        "sha256": "abc",
        "conversations": 2,
        "turns": 2,
        "questions": 10,
        "defects": {"lost": 1},
    },
    "systems": [],
    "budgets": [],
    "reader": "openai:gpt-4o-mini/1234",
    "prompts": {"rules": "Answer <briefly> | now."},
    "model": "openai:gpt-4o-mini",
    "reported": ["gpt-4o-mini-2024-07-18"],
    "embedder": "hash",
    "seed": 0,
}


def answered(system: str, text: str, k: int = 10, failing: int | None = None) -> list[Answer]:
    return [
        Answer(system, Budget(k), n, text, ("t1",), 50, "timeout" if n == failing else None)
        for n in range(len(ASKED))
    ]


def scored() -> list[Scored]:
    answers = [
        *answered("amem", "an old boat"),
        *answered("full-context", "a boat"),
        *answered("amem-without-both", "nothing", failing=0),
    ]
    return score(ASKED, answers, EMBEDDER)


def report(answers: Sequence[Answer] | None = None) -> dict[str, Any]:
    results = scored() if answers is None else score(ASKED, answers, EMBEDDER)
    return as_dict(results, Asked((), 3), SETUP)


def rows(heading: str, page: str | None = None) -> list[list[str]]:
    """The rows below a heading of the page; a row of the paper's ends with "(paper)"."""
    page = render(report()) if page is None else page
    body = page.partition(heading)[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [
            *(html.unescape(cell).strip() for cell in re.findall(r"<td>(.*?)</td>", row, re.S)),
            *(["(paper)"] if 'class="paper"' in row else []),
        ]
        for row in body.split("</tr>")[:-1]
    ]


@pytest.mark.parametrize(
    ("table", "model", "system", "measure", "group", "value"),
    [
        ("table1", "GPT-4o-mini", "amem", "f1", "multi-hop", 27.02),
        ("table5", "GPT-4o", "full-context", "rougeL", "single-hop", 63.86),
        ("table6", "Llama3.2-1b", "memgpt", "similarity", "adversarial", 61.33),
        ("table3", "", "amem-without-evolution", "f1", "temporal", 31.24),
    ],
)
def test_the_paper_s_numbers_are_there_by_table_model_and_category(
    table: str, model: str, system: str, measure: str, group: str, value: float
) -> None:
    row = paper_row(table, model, system)
    assert row is not None
    assert row[measure][group] == value
    assert paper_row("table1", "GPT-5", "amem") is None


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("openai:gpt-4o-mini", "GPT-4o-mini"),
        ("gpt-4o-2024-08-06", "GPT-4o"),
        ("ollama:qwen2.5:1.5b", "Qwen2.5-1.5b"),
        ("llama3.2:3b", "Llama3.2-3b"),
        ("claude", None),
        (None, None),
    ],
)
def test_a_model_of_the_paper_s_is_known_by_its_name(name: str | None, like: str | None) -> None:
    assert paper_model(name) == like


def test_ranks_are_means_over_categories_and_equals_share_them() -> None:
    answers = [*answered("a", "boat"), *answered("b", "boat"), *answered("c", "nothing")]
    assert mean_ranks(score(ASKED, answers, EMBEDDER)) == [1.5, 1.5, 3]


def test_the_paper_s_rows_stand_below_ours() -> None:
    page = render(report())
    first = rows("Table 1", page)
    assert [row[0] for row in first] == [
        "amem",
        "A-MEM, GPT-4o-mini",
        "full-context",
        "LoCoMo, GPT-4o-mini",
        "amem-without-both",
    ]
    assert [row[-1] == "(paper)" for row in first] == [False, True, False, True, False]
    assert first[0][1] == "100.00"
    assert first[1][1:3] == ["27.02", "20.09"]
    assert first[3][-3:-1] == ["2.4", "16,910"]
    assert [row[0] for row in rows("Ablation", page)] == [
        "amem",
        "full, GPT-4o-mini",
        "amem-without-both",
        "w/o LG & ME, GPT-4o-mini",
    ]


def test_intervals_stand_beside_the_means_and_failures_are_counted() -> None:
    page = render(report())
    first, second, _ = rows("F1 with intervals", page)
    assert first[1] == "100.0 [100.0, 100.0]"
    assert re.fullmatch(r"\+\d+\.\d \[\d+\.\d, \d+\.\d\]", second[-1])
    assert [row[-1] for row in rows("<h2>Evidence", page)] == ["0", "0", "1"]


def test_a_measure_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amem_integrations.evaluation.metrics.wordnet", lambda: None)
    page = render(report())
    assert "meteor: n/a. METEOR needs WordNet" in page
    assert rows("METEOR", page)[0][1] == "n/a"


def test_the_advised_k_is_the_least_that_cannot_be_told_from_the_best() -> None:
    answers = [
        *answered("amem", "nothing", 5),
        *answered("amem", "an old boat", 20),
        *answered("amem", "an old boat", 40),
    ]
    found = sweep(score(ASKED, answers, EMBEDDER))
    assert found["amem"]["temporal"]["best"] == found["amem"]["temporal"]["advised"] == 20
    assert found["amem"]["temporal"]["f1"] == {"5": 0, "20": 1, "40": 1}


def test_a_page_has_the_figures_the_prompts_and_the_whole_set_up(tmp_path: Path) -> None:
    answers = [*answered("amem", "a boat", 5), *answered("amem", "an old boat", 20)]
    written = save(report(answers), tmp_path)
    assert [path.name for path in written] == ["report.json", "report.html"]
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count('class="plotly-graph-div"') == 2
    assert rows("as in Table 8", page)[:2] == [
        ["amem, best", *["20"] * 5],
        ["amem, advised", *["20"] * 5],
    ]
    assert "Answer &lt;briefly&gt; | now." in page
    for fact in ("gpt-4o-mini-2024-07-18", "nltk 3", "lost: 1", "sha256 abc"):
        assert fact in page


def test_figures_have_a_mark_for_each_system_and_for_the_paper() -> None:
    figure = draw_categories(report(), "GPT-4o-mini")
    ours = next(trace for trace in figure.data if trace.name == "amem")
    assert list(ours.y) == [100] * 5
    theirs = next(trace for trace in figure.data if trace.name.startswith("A-MEM of the paper"))
    assert dict(zip(theirs.x, theirs.y, strict=True))["multi-hop"] == 27.02
