"""Whatever is said in whatever order, add_turn loses nothing of it and says nothing twice."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory, Note, Status, TurnResult
from amem_integrations.analysts.sentences import split_sentences
from amem_integrations.analysts.terms import Corpus
from amem_integrations.core.note import make_note
from amem_integrations.core.values import is_blank
from amem_integrations.formation.segments import spans

NOW = datetime(2026, 3, 2, tzinfo=UTC)

pieces = st.sampled_from(
    [
        "ok, thanks",
        "好的，谢谢！",
        "I bought a red kayak in Kiel.",
        "The board meets on Monday.",
        "Actually it is Tuesday, not Monday.",
        "By the way, ",
        "模具厂说改模要五天。",
        "对了，",
        "😂 ",
        "\n\n",
        " ",
        "```\nx = 1. By the way, y\n```",
        "Why?",
        "3 kg",
        "the plumber fixed the sink. ",
    ]
)
turns = st.lists(pieces | st.text(max_size=6), min_size=1, max_size=7).map(" ".join)
storable = turns.filter(lambda text: _is_storable(text))
talks = st.lists(
    st.fixed_dictionaries(
        {
            "content": storable,
            "speaker": st.sampled_from(["Ann", "Bob", None]),
            "session": st.sampled_from(["s", None]),
            "sequence": st.none() | st.integers(0, 3),
        }
    ),
    min_size=1,
    max_size=4,
)


def _is_storable(text: str) -> bool:
    try:
        make_note(text, namespace="n", now=NOW)
    except ValueError:
        return False
    return True


def fresh(memory: AgenticMemory) -> AgenticMemory:
    memory.admin.forget_namespace("default")
    return memory


def seen(result: TurnResult) -> list[tuple[str, str | None, Note]]:
    return [(idea.kind, idea.of, idea.note) for idea in result.ideas]


@given(storable, st.data())
def test_spans_are_stretches_of_the_turn_in_order_and_hold_all_of_it(
    text: str, data: st.DataObject
) -> None:
    turn = make_note(text, namespace="n", now=NOW)
    parts = split_sentences(text, Corpus(()))
    inner = range(1, len(parts))
    starts = (
        [0, *data.draw(st.lists(st.sampled_from(inner), unique=True).map(sorted))] if inner else [0]
    )
    ranges = list(zip(starts, [*starts[1:], len(parts)], strict=True))
    notes = spans(turn, parts, ranges, lambda: NOW)
    end = 0
    for note in notes:
        assert note.position is not None
        assert note.position >= end
        assert is_blank(text[end : note.position])
        end = note.position + len(note.content)
        assert text[note.position : end] == note.content
    assert is_blank(text[end:])
    assert len({note.id for note in notes}) == len(notes)
    assert notes == spans(turn, parts, ranges, lambda: NOW)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(talks)
def test_all_of_a_talk_is_stored_once(
    opened_raw: AgenticMemory, talk: list[dict[str, Any]]
) -> None:
    memory = fresh(opened_raw)
    first = [memory.add_turn(**turn) for turn in talk]
    stored = {note.id: note for note in memory.recent(limit=1000)}
    for turn, result in zip(talk, first, strict=True):
        said = "".join("".join(note.content for note in result.notes).split())
        assert said == "".join(turn["content"].split())
        assert {note.id for note in result.notes} <= stored.keys()
        for idea in result.ideas:
            plain = idea.kind in ("nothing", "repetition")
            assert idea.note.status is (Status.SKIPPED if plain else Status.RAW)
            assert (idea.of is not None) == (idea.kind in ("repetition", "correction"))
            assert idea.of is None or idea.of in stored
    again = [memory.add_turn(**turn) for turn in talk]
    assert {note.id: note for note in memory.recent(limit=1000)} == stored
    assert [[kind for kind, *_ in seen(result)] for result in again] == [
        [kind for kind, *_ in seen(result)] for result in first
    ]
    assert memory.admin.check() == []


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(talks, st.data())
def test_whatever_of_a_talk_is_forgotten_the_rest_stays_whole(
    opened_raw: AgenticMemory, talk: list[dict[str, Any]], data: st.DataObject
) -> None:
    memory = fresh(opened_raw)
    notes = {note.id: note for turn in talk for note in memory.add_turn(**turn).notes}
    gone = data.draw(st.sampled_from(sorted(notes)))
    memory.forget(gone)
    left = {note.id: note for note in memory.recent(limit=1000)}
    assert left.keys() == notes.keys() - {gone}
    for note in left.values():
        assert gone not in {link.to for link in note.links}
        repeats = any(link.kind == "repeats" for link in note.outgoing)
        assert not repeats or note.status is Status.SKIPPED
    assert memory.admin.check() == []
