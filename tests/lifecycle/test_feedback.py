"""Reports of use: what is kept of them, and which notes a reply made use of."""

from collections.abc import Iterator

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import match
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import run
from amem_integrations.core.namespace import DEFAULT
from amem_integrations.core.note import Link, make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.feedback import used_in
from amem_integrations.stores.uses import all_uses, queries_of
from tests.lifecycle.days import START as NOW
from tests.support import EMBEDDER, again, emptied, io_of

TEXTS = ("The redis cache evicts by LRU.", "The violin lesson is on Tuesday.", "Rent is due.")


def hits(*texts: str) -> list[Hit]:
    return [Hit(make_note(text, namespace="a", now=NOW), 1.0, {"meaning": 1.0}) for text in texts]


def reports(memory: AgenticMemory) -> int:
    return run(io_of(memory).engine.count(match("kind", "use")))


@pytest.fixture
def memory(opened_raw: AgenticMemory) -> Iterator[AgenticMemory]:
    yield from emptied(opened_raw)
    assert reports(opened_raw) == 0


def test_a_report_keeps_who_was_used_when_and_for_what(memory: AgenticMemory) -> None:
    found = [memory.add(text) for text in TEXTS[:2]]
    assert memory.lifecycle.feedback(found, query="what evicts?", session="monday") == 2
    [use] = run(all_uses(io_of(memory), DEFAULT))
    assert use.notes == tuple(note.id for note in found)
    assert (use.outcome, use.session) == ("used", "monday")
    [query] = run(queries_of(io_of(memory), [use]))
    vector = EMBEDDER.embed_query("what evicts?")
    assert sum(a * b for a, b in zip(query, vector, strict=True)) == pytest.approx(1.0, abs=1e-3)


def test_a_report_tells_of_the_links_that_led_there(memory: AgenticMemory) -> None:
    source, to = (memory.add(text) for text in TEXTS[:2])
    link = Link(source.id, to.id, "both of Tuesday", NOW)
    memory.lifecycle.feedback([Hit(to, 1.0, {"link": 1.0}, link)])
    [use] = run(all_uses(io_of(memory), DEFAULT))
    assert (use.notes, use.ways) == ((to.id,), ((source.id, to.id),))
    memory.forget(source)
    [use] = run(all_uses(io_of(memory), DEFAULT))
    assert (use.concerns, use.ways) == ((to.id,), ())


def test_forgetting_a_note_forgets_its_reports(memory: AgenticMemory) -> None:
    note = memory.add(TEXTS[0])
    memory.lifecycle.feedback(note, query="which?")
    memory.forget(note)
    assert reports(memory) == 0


def test_what_is_reported_of_others_outlives_a_note_but_not_what_was_asked(
    memory: AgenticMemory,
) -> None:
    first, second, third = (memory.add(text) for text in TEXTS)
    memory.lifecycle.feedback([first, second, third], query="all of them?", session="monday")
    memory.forget(first)
    [use] = run(all_uses(io_of(memory), DEFAULT))
    assert (use.notes, use.session) == ((second.id, third.id), "monday")
    assert run(queries_of(io_of(memory), [use])) == []
    memory.forget(third)
    assert memory.lifecycle.maintain().uses == 1
    assert again(memory, second).life.clean == 1
    memory.forget(second)
    assert reports(memory) == 0


def test_forgetting_a_namespace_forgets_its_reports_and_no_others(memory: AgenticMemory) -> None:
    for namespace in ("a", "b"):
        memory.lifecycle.feedback(memory.add(TEXTS[0], namespace=namespace))
    memory.admin.forget_namespace("a")
    assert reports(memory) == 1


def test_a_report_is_about_notes_of_one_namespace(memory: AgenticMemory) -> None:
    both = [memory.add(TEXTS[0], namespace=namespace) for namespace in ("a", "b")]
    with pytest.raises(InvalidInputError, match="one namespace"):
        memory.lifecycle.feedback(both)


@pytest.mark.parametrize(
    ("notes", "outcome"), [([], "used"), (["x"], "loved"), (["x"] * 101, "used")]
)
def test_a_report_that_can_be_none_is_refused(
    memory: AgenticMemory, notes: list[str], outcome: str
) -> None:
    with pytest.raises(InvalidInputError):
        memory.lifecycle.feedback(notes, outcome)  # type: ignore[arg-type]


async def test_both_forms_report_alike(memory: AgenticMemory) -> None:
    note = await memory.aadd(TEXTS[0])
    assert await memory.lifecycle.afeedback(note) == memory.lifecycle.feedback(note) == 1
    assert reports(memory) == 2


# -- which notes a reply used ----------------------------------------------------------------

ALIKE = tuple(f"The redis cache has {n} entries." for n in ("many", "few", "some", "no"))
CHINESE = ("小提琴课在星期二上午", "房租下周到期", "缓存用的是红色的")


@pytest.mark.parametrize(
    ("texts", "reply", "query", "first_is_used"),
    [
        (TEXTS, "Redis evicts the least recently used.", None, True),
        (TEXTS, "Redis is a database.", None, False),
        (TEXTS, "It is what it is, and the rest is on us.", None, False),
        (TEXTS, "The redis cache is a cache in redis.", None, True),
        (TEXTS, "The redis cache is a cache in redis.", "what is the redis cache?", False),
        # Most of the notes have these words.
        (ALIKE, "A redis cache it is.", None, False),
        (("Calvin's violins are old.", *TEXTS[::2]), "Calvin has a violin.", None, True),
        (CHINESE, "您的小提琴课是星期二。", None, True),
    ],
)
def test_a_note_was_used_if_the_reply_has_two_of_its_rare_words(
    texts: tuple[str, ...], reply: str, query: str | None, first_is_used: bool
) -> None:
    found = hits(*texts)
    assert used_in(reply, found, query) == (found[:1] if first_is_used else [])


def test_what_a_reply_used_is_reported(memory: AgenticMemory) -> None:
    memory.add_many(TEXTS)
    found = memory.search("what evicts?", k=3)
    used = memory.lifecycle.feedback_from_reply(found, "Redis does, by LRU.", query="what evicts?")
    assert [hit.note.content for hit in used] == [TEXTS[0]]
    [use] = run(all_uses(io_of(memory), DEFAULT))
    assert use.notes == (used[0].note.id,)
    assert memory.lifecycle.feedback_from_reply(found, "No idea.") == []
    assert reports(memory) == 1
