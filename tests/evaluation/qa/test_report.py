"""The report: the set-up, ranks, k advised, and our rows beside the paper's, in both forms."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from amem_integrations.core.usage import Usage
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa import paper
from amem_integrations.evaluation.qa.document import blocks, save
from amem_integrations.evaluation.qa.layout import Heading, Table
from amem_integrations.evaluation.qa.report import as_dict, sweep
from amem_integrations.evaluation.qa.run import Answer, Asked
from amem_integrations.evaluation.qa.scoring import CATEGORIES, Scored, mean_ranks, score
from amem_integrations.evaluation.qa.system import Budget
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


def report() -> dict[str, Any]:
    return as_dict(scored(), Asked((), 3, Usage(7, tokens_in=900)), SETUP)


def table(heading: str) -> Table:
    found = list(blocks(report()))
    start = next(n for n, b in enumerate(found) if isinstance(b, Heading) and heading in b.text)
    return next(block for block in found[start:] if isinstance(block, Table))


def test_the_paper_s_numbers_are_there_by_table_model_and_category() -> None:
    told = paper.told
    assert told("table1", "GPT-4o-mini", "A-MEM", "f1", "multi-hop") == 27.02
    assert told("table5", "GPT-4o", "LoCoMo", "rougeL", "single-hop") == 63.86
    assert told("table6", "Llama3.2-1b", "MemGPT", "similarity", "adversarial") == 61.33
    assert told("table1", "GPT-5", "A-MEM", "f1", "multi-hop") is None
    assert paper.tables()["table8"]["Llama3.2-3b"]["temporal"] == 20
    assert paper.tables()["table3"]["w/o ME"]["f1"]["temporal"] == 31.24


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
    assert paper.model_like(name) == like


def test_ranks_are_means_over_categories_and_equals_share_them() -> None:
    answers = [*answered("a", "boat"), *answered("b", "boat"), *answered("c", "nothing")]
    assert mean_ranks(score(ASKED, answers, EMBEDDER)) == [1.5, 1.5, 3]


def test_the_paper_s_row_stands_below_ours() -> None:
    first = table("Table 1")
    assert [row[0] for row in first.rows] == [
        "amem",
        "A-MEM, GPT-4o-mini",
        "full-context",
        "LoCoMo, GPT-4o-mini",
        "amem-without-both",
    ]
    assert first.paper == {1, 3}
    assert first.rows[0][1] == "100.00"
    assert first.rows[1][1:3] == ["27.02", "20.09"]
    assert first.rows[3][-2:] == ["2.4", "16,910"]


def test_ablations_stand_beside_the_paper_s() -> None:
    rows = table("Ablation").rows
    assert [row[0] for row in rows] == [
        "amem",
        "full, GPT-4o-mini",
        "amem-without-both",
        "w/o LG & ME, GPT-4o-mini",
    ]


def test_failed_questions_are_counted() -> None:
    rows = table("Evidence").rows
    assert [row[-1] for row in rows] == ["0", "0", "1"]


def test_a_measure_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amem_integrations.evaluation.qa.scoring.wordnet", lambda: None)
    page = "\n".join(block for block in blocks(report()) if isinstance(block, str))
    assert "meteor: n/a. METEOR needs WordNet" in page
    assert table("METEOR").rows[0][1] == "n/a"


def test_the_advised_k_is_the_least_that_cannot_be_told_from_the_best() -> None:
    answers = [
        *answered("amem", "nothing", 5),
        *answered("amem", "an old boat", 20),
        *answered("amem", "an old boat", 40),
    ]
    found = sweep(score(ASKED, answers, EMBEDDER))
    assert found["amem"]["temporal"]["best"] == found["amem"]["temporal"]["advised"] == 20
    assert found["amem"]["temporal"]["f1"] == {"5": 0, "20": 1, "40": 1}


def test_without_several_k_there_is_no_sweep() -> None:
    assert report()["sweep"] == {}


class Pages(HTMLParser):
    """Whether what is opened is closed again."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "line", "circle", "path", "polyline", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None: ...

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_both_forms_and_the_figures_are_written(tmp_path: Path) -> None:
    answers = [*answered("amem", "a boat", 5), *answered("amem", "an old boat", 20)]
    found = as_dict(score(ASKED, answers, EMBEDDER), Asked((), 0, None), SETUP)
    written = save(found, tmp_path)
    assert {path.name for path in written} == {"report.md", "report.html", "f1.svg", "k.svg"}
    for name in ("f1.svg", "k.svg"):
        ElementTree.parse(tmp_path / name)
    page = (tmp_path / "report.html").read_text("utf-8")
    pages = Pages()
    pages.feed(page)
    assert pages.open == []
    assert "Answer &lt;briefly&gt; | now." in page
    text = (tmp_path / "report.md").read_text("utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count(" | ") for line in block.splitlines()}) == 1
    for fact in ("gpt-4o-mini-2024-07-18", "nltk 3", "lost: 1", "sha256 abc"):
        assert fact in page
        assert fact in text
