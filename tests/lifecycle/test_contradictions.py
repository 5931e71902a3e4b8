"""What follows from two statements that cannot both hold, without a model."""

from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.note import CONTRADICTS
from tests.lifecycle.days import Days
from tests.support import again, open_memory

PAIRS = {
    "peanuts": (
        "Calvin is allergic to peanuts.",
        "Calvin is not allergic to peanuts.",
        "Is Calvin allergic to peanuts?",
    ),
    "lesson": (
        "Dana's violin lesson is on Tuesday.",
        "No, that is wrong. Dana's violin lesson is on Friday, not Tuesday.",
        "When is Dana's violin lesson?",
    ),
    "meeting": (
        "The board meeting starts at nine.",
        "The board meeting starts at ten.",
        "When does the board meeting start?",
    ),
    "city": ("Ana lives in Berlin.", "Ana lives in Munich.", "Where does Ana live?"),
    "dog": (
        "The neighbour's dog is called Bruno.",
        "The neighbour's dog is called Rocky.",
        "What is the neighbour's dog called?",
    ),
    "olives": ("Paul likes olives.", "Paul hates olives.", "Does Paul like olives?"),
    "Chinese": ("安娜住在北京。", "安娜住在上海。", "安娜住在哪里?"),
    "German": (
        "Der Zahnarzttermin ist am Montag.",
        "Der Zahnarzttermin ist am Dienstag.",
        "Wann ist der Zahnarzttermin?",
    ),
}
OTHERS = (
    "The redis cache holds 512 entries.",
    "Lunch is served on the terrace.",
    "The kayak is red and blue.",
    "Nora paints the fence.",
)


@pytest.fixture
def memory() -> Any:
    with open_memory(clock=Days()) as memory:
        for text in OTHERS:
            memory.add(text, source="user", speaker="ana")
        yield memory


def told(memory: AgenticMemory, pair: str, *speakers: str) -> tuple[Note, Note]:
    """Both statements of a pair, each in a session of its own, as they are in the end."""
    notes: list[Note] = []
    for text, speaker in zip(PAIRS[pair][:2], speakers, strict=True):
        days: Days = memory.options.clock  # type: ignore[assignment]
        days += 1
        notes.append(memory.add(text, source="user", speaker=speaker, session=f"s{days.now}"))
    memory.lifecycle.maintain()
    older, newer = (again(memory, note) for note in notes)
    assert [note.life.supports for note in (older, newer)] == [0, 0]
    assert [note.life.confirmations for note in (older, newer)] == [0, 0]
    return older, newer


def order(memory: AgenticMemory, pair: str, **how: Any) -> list[str]:
    """Which of the two a search finds, the best first."""
    found = [hit.note.content for hit in memory.search(PAIRS[pair][2], k=6, **how)]
    return [text for text in found if text in PAIRS[pair][:2]]


@pytest.mark.parametrize("pair", PAIRS)
def test_what_somebody_says_now_outdates_what_he_said(memory: AgenticMemory, pair: str) -> None:
    older, newer = told(memory, pair, "ana", "ana")
    assert older.valid_until == newer.created_at
    assert (newer.valid_until, newer.contested_by) == (None, ())
    assert [link.kind for link in newer.outgoing if link.to == older.id] == [CONTRADICTS]
    assert order(memory, pair) == [PAIRS[pair][1], PAIRS[pair][0]]
    assert order(memory, pair, at=older.created_at)[0] == PAIRS[pair][0]


@pytest.mark.parametrize("pair", PAIRS)
def test_what_two_people_say_is_contested_on_both_sides(memory: AgenticMemory, pair: str) -> None:
    older, newer = told(memory, pair, "ana", "ben")
    assert (older.contested_by, newer.contested_by) == ((newer.id,), (older.id,))
    assert order(memory, pair)[0] == PAIRS[pair][1]


def test_a_note_that_is_contested_five_times_comes_under_audit(memory: AgenticMemory) -> None:
    wrong = memory.add("The lesson is on Tuesday.", source="user", speaker="ana", session="s")
    for n in range(5):
        text = "No, that is wrong. The lesson is on Friday, not Tuesday."
        memory.add(text, source="user", speaker="ana", session=f"s{n}", key=f"k{n}")
    assert memory.lifecycle.maintain().audited == 1
    [audit] = memory.lifecycle.audits()
    assert (audit.note.id, len(audit.lineage.contested_by)) == (wrong.id, 5)
    assert audit.reason.endswith("contested by 5 notes")


def test_forgetting_either_note_settles_it(memory: AgenticMemory) -> None:
    older, newer = told(memory, "city", "ana", "ben")
    memory.forget(newer)
    assert (again(memory, older).contested_by, again(memory, older).valid_until) == ((), None)
    older, newer = told(memory, "dog", "ana", "ben")
    memory.forget(older)
    assert again(memory, newer).contested_by == ()
    assert memory.admin.check() == []


def test_undoing_the_newer_note_brings_the_older_back(memory: AgenticMemory) -> None:
    older, newer = told(memory, "city", "ana", "ben")
    memory.revert(newer)
    older, newer = again(memory, older), again(memory, newer)
    assert (older.contested_by, older.valid_until, newer.contested_by) == ((), None, ())


@pytest.mark.parametrize(
    ("speaker", "source"), [("assistant", "assistant"), ("Web page", "web"), ("file", "import")]
)
def test_who_is_trusted_less_contests_nothing(
    memory: AgenticMemory, speaker: str, source: str
) -> None:
    mine = memory.add(PAIRS["city"][0], source="user", speaker="ana")
    theirs = memory.add(PAIRS["city"][1], source=source, speaker=speaker)
    mine, theirs = again(memory, mine), again(memory, theirs)
    assert (mine.valid_until, mine.contested_by, theirs.contested_by) == (None, (), ())
    assert [proposal.target for proposal in memory.lifecycle.proposals()] == [mine.id]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Berlin.", "I live in Munich."),
        ("My lesson is on Tuesday.", "My lesson is on Friday."),
    ],
)
def test_i_am_somebody_else_in_anothers_mouth(
    memory: AgenticMemory, older: str, newer: str
) -> None:
    first = memory.add(older, source="user", speaker="ana")
    second = memory.add(newer, source="user", speaker="ben")
    notes = [again(memory, note) for note in (first, second)]
    assert [(note.valid_until, note.contested_by) for note in notes] == [(None, ())] * 2


@pytest.mark.parametrize("turn", ["My manager is now Pedro.", "Actually, my manager is Pedro."])
def test_a_turn_corrects_what_it_contradicts(memory: AgenticMemory, turn: str) -> None:
    told = {"source": "user", "speaker": "ana", "session": "s"}
    [old] = memory.add_turn("My manager is Ana.", **told).notes
    [idea] = memory.add_turn(turn, **told).ideas
    assert (idea.kind, idea.of) == ("correction", old.id)
    assert again(memory, old).valid_until is not None
