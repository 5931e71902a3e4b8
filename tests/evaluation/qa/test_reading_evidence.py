"""Evidence read from its text: packed notes, lines of turns, and what is answered from them."""

from datetime import UTC, datetime

import pytest

from amem_integrations.evaluation.dataset import Turn
from amem_integrations.evaluation.qa.extractive import ExtractiveReader
from amem_integrations.evaluation.qa.quoted import Said, quoted
from amem_integrations.evaluation.qa.reader import ABSTENTION
from amem_integrations.evaluation.qa.system import Evidence
from amem_integrations.evaluation.qa.systems.showing import line, whole
from amem_integrations.recall.prompt import pack
from tests.evaluation.qa.samples import conversation, question
from tests.support import open_memory

MAY = datetime(2026, 5, 7, tzinfo=UTC)
TURNS = [
    Turn("t1", "We sailed to Odesa yesterday: it took nine hours.", "Nora", time=MAY),
    Turn("t2", "My grandfather Petro sewed the mainsail.", "Ilya", time=MAY),
    Turn("t3", 'He calls her "Gull" and\nnothing else.', "Nora", time=MAY),
]
NOBODY = conversation()


def answer(asked: str, bait: str | None = None) -> str:
    evidence = Evidence("\n".join(line(turn) for turn in TURNS))
    return ExtractiveReader().answer(NOBODY, question(asked, bait=bait), evidence)


def test_lines_and_days_of_turns_are_read() -> None:
    expected = [
        Said(TURNS[0].text, "Nora", MAY),
        Said(TURNS[1].text, "Ilya", MAY),
        Said('He calls her "Gull" and nothing else.', "Nora", MAY),
    ]
    assert quoted("\n".join(line(turn) for turn in TURNS)) == expected
    assert quoted(whole(TURNS)) == expected


def test_packed_notes_are_read_as_they_were_said() -> None:
    with open_memory(formation="off") as memory:
        for turn in TURNS:
            memory.add(turn.text, speaker=turn.speaker, occurred_at=turn.time)
        found = quoted(pack(memory.search("mainsail", k=3), 1000))
    assert {(said.text, said.speaker, said.at) for said in found} == {
        (turn.text, turn.speaker, turn.time) for turn in TURNS
    }


def test_no_evidence_is_no_line_and_no_answer() -> None:
    assert quoted("") == []
    assert ExtractiveReader().answer(NOBODY, question("Who sewed?"), Evidence("")) == ""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("When did they sail to Odesa?", "6 May 2026"),
        ("On which day did Petro sew the mainsail?", "7 May 2026"),
        ("How many hours did sailing to Odesa take?", "nine"),
        ("Who sewed the mainsail?", "Petro"),
        ("Did they sail to Odesa?", "yes"),
        ("Petro sewed the mainsail; what is he to Ilya?", "grandfather"),
    ],
)
def test_the_kind_of_question_chooses_the_words(asked: str, expected: str) -> None:
    assert answer(asked) == expected


def test_a_bait_is_taken_only_where_the_evidence_has_its_words() -> None:
    assert answer("Where did Ilya's mainsail go?", bait="to Odesa") == ABSTENTION
    assert answer("Who sewed the mainsail for Odesa?", bait="grandfather Petro") == (
        "grandfather Petro"
    )
