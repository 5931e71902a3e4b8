"""The report: the set-up, and our rows beside the paper's."""

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.report import (
    as_dict,
    paper_model,
    paper_row,
    save,
)
from amem_integrations.evaluation.qa.report import page as render
from amem_integrations.evaluation.qa.run import Asked
from amem_integrations.evaluation.qa.scores import Scored, score
from amem_integrations.evaluation.qa.system import Answer, Budget
from tests.support import EMBEDDER

CATEGORIES = ("multi-hop", "open-domain", "single-hop", "temporal", "adversarial")
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
    ("model", "system", "measure", "group", "value"),
    [
        ("GPT-4o-mini", "amem", "f1", "multi-hop", 27.02),
        ("GPT-4o", "full-context", "f1", "single-hop", 61.56),
        ("GPT-4o-mini", "amem-without-evolution", "f1", "temporal", 31.24),
    ],
)
def test_the_paper_s_numbers_are_there_by_model_and_category(
    model: str, system: str, measure: str, group: str, value: float
) -> None:
    row = paper_row(model, system)
    assert row is not None
    assert row[measure][group] == value
    assert paper_row(model, "dense") is None


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


def test_the_paper_s_rows_stand_below_ours() -> None:
    found = rows("F1 and BLEU-1")
    assert [row[0] for row in found] == [
        "amem",
        "A-MEM, GPT-4o-mini",
        "full-context",
        "LoCoMo, GPT-4o-mini",
        "amem-without-both",
        "w/o LG & ME, GPT-4o-mini",
    ]
    assert [row[-1] == "(paper)" for row in found] == [False, True] * 3
    assert found[0][1] == "100.00"
    assert found[1][1:3] == ["27.02", "20.09"]
    assert found[3][-2] == "16,910"


def test_intervals_stand_beside_the_means_and_failures_are_counted() -> None:
    page = render(report())
    first, second, _ = rows("F1 with intervals", page)
    assert first[1] == "100.0 [100.0, 100.0]"
    assert re.fullmatch(r"\+\d+\.\d \[\d+\.\d, \d+\.\d\]", second[-1])
    assert [row[-1] for row in rows("<h2>Evidence", page)] == ["0", "0", "1"]


def test_a_page_has_each_k_the_prompts_and_the_whole_set_up(tmp_path: Path) -> None:
    answers = [*answered("amem", "a boat", 5), *answered("amem", "an old boat", 20)]
    written = save(report(answers), tmp_path)
    assert [path.name for path in written] == ["report.json", "report.html"]
    page = (tmp_path / "report.html").read_text("utf-8")
    assert [row[0] for row in rows("F1 with intervals", page)] == ["amem, k=5", "amem, k=20"]
    assert "Answer &lt;briefly&gt; | now." in page
    for fact in ("gpt-4o-mini-2024-07-18", "nltk 3", "lost: 1", "sha256 abc"):
        assert fact in page
