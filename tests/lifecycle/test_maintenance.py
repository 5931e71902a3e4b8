"""Maintenance: what uses and time make of notes and links, step by step, and again."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from amem_integrations.core.io import Clock, SyncIO, run
from amem_integrations.core.note import REPEATS, Note, Status
from amem_integrations.core.status import NEW, Tier
from amem_integrations.lifecycle.feedback import feedback
from amem_integrations.lifecycle.maintenance import Maintained, maintain, maintain_if_due
from amem_integrations.lifecycle.policy import DEFAULT_POLICY, Policy
from tests.admin.fragile import Fragile, Killed
from tests.lifecycle.days import PRUNING, Days, Lived
from tests.support import again, io_of, open_memory

NOTHING = Maintained()
_names = count()


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def shared(days: Days) -> Iterator[Any]:
    with open_memory(clock=days, formation="off", lifecycle=PRUNING) as memory:
        yield memory


@pytest.fixture
def lived(shared: Any, days: Days) -> Lived:
    return Lived(shared, days, f"space{next(_names)}")


def kinds(lived: Lived, id: str) -> list[str]:
    chain = lived.memory.history(id, namespace=lived.namespace)
    return [each.kind for each in chain]


def plain(lived: Lived, text: str, **said: Any) -> str:
    """A note that waits for nothing."""
    id = lived.add(text, **said)
    note = lived.note(id)
    run(io_of(lived.memory).engine.patch(id, {"status": str(Status.PLAIN)}))
    assert note.status is Status.RAW
    return id


# -- uses ------------------------------------------------------------------------------------


def test_uses_are_counted_once_without_a_version_or_a_revision(lived: Lived) -> None:
    note = plain(lived, "The cache holds 512 entries.", session="s")
    before = lived.note(note)
    lived.use(note, session="t")
    lived.use(note, session="t", outcome="conflict")
    assert lived.maintain().uses == 2
    after = lived.note(note)
    life = after.life
    assert (life.clean, life.conflicting, life.occasions) == (1, 1, ("s #0", "t"))
    assert replace(after, life=NEW) == before
    assert lived.maintain() == NOTHING
    assert lived.note(note) == after


def test_links_between_notes_that_are_used_together_grow(lived: Lived) -> None:
    one, other, third = (plain(lived, text) for text in ("The cache", "The violin", "The rent"))
    lived.link(one, other)
    lived.link(one, third)
    lived.use(one, other, days=0)
    assert lived.maintain().links == 1
    weights = {link.to: link.weight for link in lived.note(one).outgoing}
    assert weights[other] == pytest.approx(0.55, abs=1e-6)
    assert weights[third] == 0.5


def test_the_link_that_led_to_a_note_in_conflict_shrinks(lived: Lived) -> None:
    one, other = plain(lived, "The cache holds 512 entries."), plain(lived, "The violin lesson")
    lived.link(one, other, 0.8)
    hit = next(
        hit
        for hit in lived.memory.search("cache entries", namespace=lived.namespace, k=2)
        if hit.note.id == other
    )
    assert hit.via is not None
    lived.memory.lifecycle.feedback(hit, "conflict")
    lived.maintain()
    [link] = lived.note(one).outgoing
    assert link.weight == pytest.approx(0.56, abs=1e-6)
    assert lived.note(one).life.conflicting == 0


def story(lived: Lived) -> list[Note]:
    """Notes with uses that are not counted yet, and that make all kinds of work."""
    ids = [plain(lived, f"{word} {word}", session="s") for word in ("cache", "violin", "rent")]
    lived.link(ids[0], ids[1], 0.051)
    lived.link(ids[1], ids[2], 0.4)
    for session in ("t", "u", "v"):
        lived.use(ids[0], ids[2], session=session)
    lived.use(ids[1], session="w", outcome="conflict")
    lived.days += 40
    return [lived.note(id) for id in ids]


def outcome(lived: Lived, notes: list[Note]) -> list[tuple[Any, ...]]:
    """All that maintenance changes, but for moments."""
    held = [lived.note(note.id) for note in notes]
    place = {note.id: number for number, note in enumerate(notes)}
    return [
        (
            note.tier,
            replace(note.life, counted=0, used_at=None, confirmed_at=None, tiered_at=None),
            sorted((place[link.to], link.kind, round(link.weight, 4)) for link in note.outgoing),
            [each for each in kinds(lived, note.id) if each != "formed"],
        )
        for note in held
    ]


def test_maintenance_that_was_killed_anywhere_ends_as_if_it_had_not_been(
    shared: Any, days: Days
) -> None:
    whole = Lived(shared, days, f"space{next(_names)}")
    notes = story(whole)
    done = whole.maintain()
    assert done.uses == 4
    assert done.tiers
    assert done.pruned
    assert done.co_used
    expected = [replace_conflicts(each) for each in outcome(whole, notes)]
    for writes in range(1, 24, 4):
        broken = Lived(shared, days, f"space{next(_names)}")
        notes = story(broken)
        io = io_of(shared)
        fragile = SyncIO(Fragile(io.engine, writes), io.sparse, io.embedder, None, io.now)  # type: ignore[arg-type]
        work = maintain(fragile, (broken.namespace,), PRUNING, "tests")
        try:
            run(work)
        except Killed:
            broken.maintain()
        assert [replace_conflicts(each) for each in outcome(broken, notes)] == expected


def replace_conflicts(told: tuple[Any, ...]) -> tuple[Any, ...]:
    tier, life, *rest = told
    return (tier, replace(life, conflicts=life.conflicts[:0]), *rest)


# -- tiers -----------------------------------------------------------------------------------


def test_a_note_that_comes_up_often_rises_to_the_long_tier(lived: Lived) -> None:
    note = plain(lived, "The cache holds 512 entries.", session="s")
    for session in ("t", "u"):
        lived.use(note, session=session)
    assert lived.maintain().tiers == 1
    assert lived.note(note).tier is Tier.MID
    assert lived.maintain(29).tiers == 0
    assert lived.maintain(1.1).tiers == 1
    assert lived.note(note).tier is Tier.LONG
    assert kinds(lived, note) == ["tiered", "tiered"]


def test_in_a_namespace_of_one_session_turns_far_apart_count(lived: Lived) -> None:
    note = plain(lived, "The cache holds 512 entries.", session="s", sequence=0)
    for turn in (10, 50, 60, 100):
        plain(lived, f"Turn {turn} of the only session", session="s", sequence=turn)
        lived.use(note, session="s")
    lived.maintain()
    assert lived.note(note).life.occasions == ("s #0", "s #50", "s #100")
    assert lived.note(note).tier is Tier.MID


# -- links -----------------------------------------------------------------------------------


def test_an_unused_link_is_pruned_and_can_be_restored(lived: Lived) -> None:
    one, other = plain(lived, "The cache"), plain(lived, "The violin")
    lived.link(one, other, 0.4)
    before = lived.note(one)
    assert lived.maintain(269).pruned == 0
    assert lived.maintain(2).pruned == 1
    assert lived.note(one).outgoing == ()
    assert kinds(lived, one)[-1] == "pruned"
    lived.memory.revert(one, namespace=lived.namespace)
    assert lived.note(one).outgoing == before.outgoing


def test_notes_used_together_in_three_sessions_are_linked(lived: Lived) -> None:
    one, other = plain(lived, "The cache", session="s"), plain(lived, "The violin", session="s")
    for session in ("t", "t", "u"):
        lived.use(one, other, session=session)
    assert lived.maintain().co_used == 0
    lived.use(one, other, session="v", query="what now?")
    assert lived.maintain().co_used == 1
    [link] = lived.note(other).outgoing
    assert (link.to, link.kind, link.weight) == (one, "co-use", 0.5)
    assert "co-used" in kinds(lived, other)
    assert lived.maintain().co_used == 0


# -- what says the same ----------------------------------------------------------------------


def test_a_statement_of_three_sessions_becomes_mid(lived: Lived) -> None:
    said = []
    for session in "stu":
        lived.days += 1
        said.append(plain(lived, "The cache holds 512 entries.", session=session, speaker="ann"))
    plain(lived, "The violin lesson is on Tuesday.", session="u", speaker="ann")
    lived.maintain()
    lives = [lived.note(id).life for id in said]
    assert [set(life.occasions) for life in lives] == [{"s", "t", "u"}] * 3
    assert [life.supports for life in lives] == [0, 0, 0]
    assert lived.note(said[0]).tier is Tier.MID


def test_another_source_in_another_session_supports(lived: Lived) -> None:
    text = "The cache holds 512 entries."
    one = plain(lived, text, session="s", source="user")
    other = plain(lived, text, session="t", source="web")
    before = lived.memory.lifecycle.explain(one, namespace=lived.namespace)
    lived.maintain()
    assert [lived.note(id).life.supports for id in (one, other)] == [1, 1]
    after = lived.memory.lifecycle.explain(one, namespace=lived.namespace)
    assert (before.consensus, after.consensus) == (0.0, 0.5)
    assert after.confidence > before.confidence


@pytest.mark.parametrize("source", [None, "import", "web", "tool", "assistant"])
def test_invariant_10_more_voices_of_one_kind_of_source_are_one(
    lived: Lived, source: str | None
) -> None:
    text = "The cache holds 512 entries."
    theirs = [
        plain(lived, text, session=f"s{n}", source=source, speaker=f"Voice {n}") for n in range(3)
    ]
    lived.maintain()
    assert [lived.note(id).life.supports for id in theirs] == [0, 0, 0]
    mine = plain(lived, text, session="mine", source="user", speaker="Ada")
    lived.maintain()
    # What assistants and tools say, they may have read here.
    echoes = source in ("tool", "assistant")
    assert [lived.note(id).life.supports for id in (*theirs, mine)] == [1, 1, 1, int(not echoes)]


def test_each_user_is_a_source_and_supports_once(lived: Lived) -> None:
    text = "The cache holds 512 entries."
    said = [
        plain(lived, text, session=f"s{n}", source="user", speaker=name)
        for n, name in enumerate(("Ada", "Ada", "Bram", "Chidi"))
    ]
    lived.maintain()
    assert [lived.note(id).life.supports for id in said] == [2, 2, 2, 2]


@pytest.mark.parametrize("source", ["assistant", "tool"])
def test_an_echo_neither_supports_nor_confirms(lived: Lived, source: str) -> None:
    mine = plain(lived, "Dana moved to Oslo in May.", session="s0", source="user", speaker="Dana")
    for n in range(1, 6):
        lived.days += 1
        text = "As you know, Dana moved to Oslo in May."
        plain(lived, text, session=f"s{n}", source=source, speaker=source)
    before = lived.memory.lifecycle.explain(mine, namespace=lived.namespace)
    lived.maintain()
    after = lived.memory.lifecycle.explain(mine, namespace=lived.namespace)
    assert (after.supports, after.confirmations, after.tier) == (0, 0, "short")
    assert after.base == before.base


def test_support_raises_a_note_no_higher_than_the_best_source_is_trusted(lived: Lived) -> None:
    said = [
        plain(lived, "The cache holds 512 entries.", session=f"s{n}", source="user", speaker=name)
        for n, name in enumerate(("Ada", "Bram", "Chidi", "Dana", "Efe"))
    ]
    lived.maintain()
    explained = lived.memory.lifecycle.explain(said[0], namespace=lived.namespace)
    assert (explained.supports, explained.base) == (4, 0.9)


def test_a_repetition_in_other_words_confirms_what_it_repeats(lived: Lived) -> None:
    first = plain(lived, "The cache holds 512 entries.", session="s")
    again = plain(lived, "As I said, half a thousand fit in there.", session="t")
    lived.link(again, first, 1.0, REPEATS)
    lived.maintain()
    assert [lived.note(id).life.confirmations for id in (first, again)] == [1, 1]
    assert set(lived.note(first).life.occasions) == {"s", "t"}


def test_notes_with_other_numbers_do_not_support_each_other(lived: Lived) -> None:
    words = "the redis cache that we run for the checkout holds at most"
    ids = [
        plain(lived, f"{words} {n} entries", session=f"s{n}", speaker="ann") for n in (512, 1024)
    ]
    lived.maintain()
    assert [lived.note(id).life.occasions for id in ids] == [(), ()]


# -- the ring --------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [Policy(max_short_notes=4), Policy(max_notes=4)])
def test_of_too_many_notes_the_least_believed_and_useful_are_archived(
    lived: Lived, policy: Policy
) -> None:
    ids = []
    for number in range(6):
        lived.days += 1
        ids.append(plain(lived, f"Noise of day {number}"))
    # A value that a caller put is never archived.
    run(io_of(lived.memory).engine.patch(ids[1], {"value": "[1]"}))
    lived.use(ids[0])
    done = run(maintain(io_of(lived.memory), (lived.namespace,), policy, "tests"))
    status = [lived.note(id).status for id in ids]
    archived = [number for number, each in enumerate(status) if each is Status.ARCHIVED]
    assert done.archived == len(archived)
    assert archived == ([2] if policy.max_short_notes == 4 else [2, 3])


# -- when it is due --------------------------------------------------------------------------


def test_nothing_is_written_if_nothing_is_due(lived: Lived) -> None:
    plain(lived, "The cache")
    lived.maintain()
    io = io_of(lived.memory)
    frozen = SyncIO(Fragile(io.engine, 0), io.sparse, io.embedder, None, io.now)  # type: ignore[arg-type]
    assert run(maintain(frozen, (lived.namespace,), DEFAULT_POLICY, "tests")) == NOTHING


def test_the_worker_maintains_once_in_a_while(lived: Lived) -> None:
    note = plain(lived, "The cache")
    io = io_of(lived.memory)
    lived.days += 1
    run(maintain_if_due(io, DEFAULT_POLICY, "tests"))
    lived.use(note, days=0.01)
    wait = run(maintain_if_due(io, DEFAULT_POLICY, "tests"))
    assert timedelta() < wait < DEFAULT_POLICY.maintain_every
    assert lived.note(note).life.clean == 0
    lived.days += 0.05
    run(maintain_if_due(io, DEFAULT_POLICY, "tests"))
    assert lived.note(note).life.clean == 1


async def test_both_forms_maintain(lived: Lived) -> None:
    note = plain(lived, "The cache")
    lived.use(note)
    assert (await lived.memory.lifecycle.amaintain(lived.namespace)).uses == 1
    assert await lived.memory.lifecycle.aexplain(note, namespace=lived.namespace) is not None


def test_a_clock_that_was_wrong_once_does_not_stop_maintenance() -> None:
    wrong = Days()
    wrong += 3000
    with open_memory(formation="off", clock=wrong) as memory:
        known, note = memory.add("The redis cache"), memory.add("The violin lesson")
        memory.lifecycle.feedback(known)
        memory.lifecycle.maintain()
        io = io_of(memory)
        run(maintain_if_due(io, DEFAULT_POLICY, "tests"))
        # As after a restart: within a process, time never goes back.
        right = SyncIO(io.engine, io.sparse, io.embedder, None, Clock(Days()))
        assert run(maintain_if_due(right, DEFAULT_POLICY, "tests")) == DEFAULT_POLICY.maintain_every
        assert run(feedback(right, note.namespace, [note.id])) == 1
        assert run(maintain(right, note.namespace, DEFAULT_POLICY, "tests")).uses == 1
        assert again(memory, note).life.clean == 1
        assert run(maintain(right, note.namespace, DEFAULT_POLICY, "tests")) == NOTHING


async def test_two_at_once_count_nothing_twice(lived: Lived) -> None:
    ids = [plain(lived, f"The {word} of {word}s", session="s") for word in ("cache", "violin")]
    lived.link(ids[0], ids[1], 0.3)
    for number in range(70):
        lived.use(*ids, session=f"t{number % 4}", days=0.001)
    home = lived.namespace
    done = await asyncio.gather(*(lived.memory.lifecycle.amaintain(home) for _ in range(3)))
    assert any(each.left for each in done)
    lived.memory.lifecycle.maintain(home)
    assert [lived.note(id).life.clean for id in ids] == [70, 70]
    [link] = lived.note(ids[0]).outgoing
    assert link.weight == pytest.approx(1 - 0.7 * 0.9**70, abs=1e-3)
