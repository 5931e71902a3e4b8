"""What a memory without a model finds again in the demonstration's conversation."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.cli.demo import messages

DATA = Path(__file__).parent.parent / "cookbook" / "data"
QUESTIONS: list[dict[str, Any]] = json.loads(
    (DATA / "product_team_questions.json").read_text(encoding="utf-8")
)
HAN = re.compile("[\u4e00-\u9fff]")
ANY = [question for question in QUESTIONS if "embedder" not in question]
PLACES = 5


@pytest.fixture(scope="module", params=[None, "multilingual"])
def memory(request: pytest.FixtureRequest) -> Iterator[AgenticMemory]:
    with AgenticMemory(embedder=request.param) as memory:
        memory.add_many(messages())
        yield memory


def name(value: Any) -> str:
    return value["question"] if isinstance(value, dict) else str(value)


def keys(memory: AgenticMemory, question: dict[str, Any]) -> list[str]:
    return [hit.note.key for hit in memory.search(question["question"], k=PLACES)]


@pytest.mark.parametrize(
    ("memory", "question"),
    [(None, each) for each in ANY] + [("multilingual", each) for each in QUESTIONS],
    indirect=["memory"],
    scope="module",
    ids=name,
)
def test_every_expected_note_is_in_the_top_five(
    memory: AgenticMemory, question: dict[str, Any]
) -> None:
    assert set(question["expected"]) <= set(keys(memory, question))


@pytest.mark.parametrize("memory", [None], indirect=True, ids=["default"], scope="module")
def test_by_default_words_find_the_chinese_that_meaning_cannot(memory: AgenticMemory) -> None:
    for question in (q for q in ANY if q["language"] == "zh"):
        hits = memory.search(question["question"], k=100, hops=0)
        by_meaning = sorted(hits, key=lambda hit: -hit.why.get("meaning", 0.0))[:PLACES]
        expected = set(question["expected"])
        assert not expected <= {hit.note.key for hit in by_meaning}
        assert expected <= {hit.note.key for hit in hits[:PLACES]}


def test_every_note_was_formed_and_nothing_is_wrong(memory: AgenticMemory) -> None:
    assert memory.admin.health()[Status.FORMED] == memory.count() == len(messages())
    assert memory.admin.check() == []
    linked = [note for note in memory.recent(limit=100) if note.links]
    assert len(linked) > len(messages()) / 2
    chinese = [note for note in linked if HAN.search(note.content)]
    assert any(HAN.search("".join(note.keywords)) for note in chinese)
