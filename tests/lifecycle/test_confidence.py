"""How far a note is believed, worked by hand, and as it is shown with and without a policy."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from amem_integrations import AgenticMemory, Policy
from amem_integrations.core.note import Note, make_note
from amem_integrations.core.status import Life, Tier
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.confidence import base, confidence, explain, source_of
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from tests.lifecycle.days import START as NOW
from tests.lifecycle.days import Days, Lived
from tests.support import open_memory

CACHE, VIOLIN = "The redis cache evicts by LRU.", "The violin lesson is on Tuesday."


def note(speaker: str | None = "user", **changes: object) -> Note:
    return replace(make_note("x", namespace="a", now=NOW, speaker=speaker), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("speaker", "source", "expected"),
    [
        (None, None, None),
        *((name, None, None) for name in ("Ada", "Web page", "system", "Administrator", "admin")),
        ("user", None, "user"),
        ("Human", None, "user"),
        ("assistant", None, "assistant"),
        ("tool", None, "tool"),
        ("Ada", "user", "user"),
        ("user", "import", "import"),
        ("user", "web", "web"),
    ],
)
def test_a_source_is_as_given_or_the_role_that_speaks(
    speaker: str | None, source: str | None, expected: str | None
) -> None:
    assert source_of(note(speaker, source=source)) == expected


def test_a_policy_names_the_speakers_who_are_users() -> None:
    policy = Policy(users=("Ada", "Bram"))
    found = [source_of(note(name), policy) for name in ("Ada", "Bram", "Web page", "user")]
    assert found == ["user", "user", None, "user"]
    assert source_of(note("Ada", source="web"), policy) == "web"


def test_nobody_but_a_user_may_change_what_a_user_said() -> None:
    policy = Policy()
    for source in policy.source_trust.keys() - {"user"}:
        trust = policy.source_trust[source]
        assert trust < (1 - policy.trust_gap) * policy.source_trust["user"], source


def test_base_confidence_counts_source_support_and_contradictions() -> None:
    assert base(note()) == pytest.approx(0.4 * 0.9 + 0.3 * 0 + 0.3 * 1)
    known = note(life=Life(supports=2), contested_by=("b",))
    assert base(known) == pytest.approx(0.4 * 0.9 + 0.3 * 0.75 + 0.3 * 0.5)


@pytest.mark.parametrize(
    ("tier", "confirmations", "days"),
    [
        (Tier.SHORT, 0, 7),
        (Tier.LONG, 0, 730),
        (Tier.SHORT, 1, 14),
        (Tier.SHORT, 5, 42),
        (Tier.SHORT, 50, 42),
    ],
)
def test_after_its_half_life_half_of_what_is_above_the_floor_is_gone(
    tier: Tier, confirmations: int, days: int
) -> None:
    known = note(tier=tier, life=Life(confirmations=confirmations, confirmed_at=NOW))
    assert confidence(known, NOW) == pytest.approx(0.66)
    assert confidence(known, NOW + timedelta(days=days)) == pytest.approx(0.1 + 0.56 / 2)
    # Asked about before it was said, it is not believed more.
    assert confidence(known, NOW - timedelta(days=9)) == pytest.approx(0.66)


def test_an_explanation_says_how_the_value_came_about() -> None:
    text = str(explain(note(), NOW + timedelta(days=7)))
    assert all(part in text for part in ("confidence 0.38", "source: user", "7.0 days"))


@pytest.mark.parametrize(
    "wrong",
    [
        *({"min_path_confidence": wrong} for wrong in (2.0, "x", float("nan"), None)),
        *({"max_short_notes": wrong} for wrong in (0, 1.5, "x")),
        *(
            {"max_notes": -1},
            {"max_confirmations": -1},
            {"revisions_to_demote": 0},
            {"drop_weak_paths": "no"},
        ),
        *(
            {"source_trust": {}},
            {"source_trust": None},
            {"source_trust": {**Policy().source_trust, None: 2}},
        ),
        *({"users": wrong} for wrong in ("Ada", (1,), None)),
        *({"half_lives": {}}, {"half_lives": dict.fromkeys(Tier, timedelta(0))}),
        {"half_lives": dict.fromkeys(Tier, 7)},
        *({"link_half_life": wrong} for wrong in (90, timedelta(0), timedelta(days=-1))),
        *({"idle_after": 60}, {"maintain_every": 3600}, {"audit_window": timedelta(days=-1)}),
    ],
    ids=repr,
)
def test_an_invalid_policy_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        Policy(**wrong)  # type: ignore[arg-type]


def test_a_lifecycle_is_a_policy_or_a_switch() -> None:
    with pytest.raises(InvalidInputError, match="lifecycle is True, False or a Policy"):
        open_memory(lifecycle="yes")


# -- as it is shown --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def memory(days: Days) -> Iterator[AgenticMemory]:
    with open_memory(clock=days, formation="off") as memory:
        yield memory


@pytest.fixture
def lived(memory: AgenticMemory, days: Days) -> Iterator[Lived]:
    yield Lived(memory, days, "a")
    memory.admin.forget_namespace("a")


def test_hits_and_notes_carry_the_confidence_of_the_moment(lived: Lived) -> None:
    note = lived.add(CACHE, source="user")
    lived.days += 7
    expected = confidence(lived.note(note), lived.days.now, DEFAULT_POLICY)
    [hit] = lived.memory.search("redis", namespace="a")
    shown = lived.memory.get(note, namespace="a")
    [recent] = lived.memory.recent(namespace="a")
    assert shown is not None
    for each in (hit.note, shown, recent):
        assert each.confidence == pytest.approx(expected, abs=1e-6)
    assert lived.note(note).confidence == 1.0


def test_confidence_is_that_of_the_time_asked_about(lived: Lived) -> None:
    then = lived.days.now
    lived.add(CACHE, source="user", occurred_at=then)
    lived.days += 30
    [now] = lived.memory.search("redis", namespace="a")
    [before] = lived.memory.search("redis", namespace="a", at=then + timedelta(minutes=1))
    assert before.note.confidence > 0.6 > now.note.confidence


def test_an_old_note_that_answers_is_still_found_first(lived: Lived) -> None:
    lived.add(CACHE)
    lived.days += 2000
    lived.add(VIOLIN)
    [first, *_] = lived.memory.search("how does the redis cache evict?", namespace="a")
    assert first.note.content == CACHE
    assert first.note.confidence < 0.11
    assert "doubt" not in first.why


def test_links_are_shown_with_their_weight_of_now_and_a_worn_one_casts_doubt(lived: Lived) -> None:
    one, other = lived.add(CACHE), lived.add(VIOLIN)
    lived.link(one, other, 0.8)
    fresh = {hit.note.id: hit for hit in lived.memory.search("redis cache", namespace="a")}
    lived.days += 90
    for id in (one, other):
        [link] = lived.memory.links(id, namespace="a")
        assert link.weight == pytest.approx(0.4, abs=1e-6)
    hits = {hit.note.id: hit for hit in lived.memory.search("redis cache", namespace="a")}
    weights = [link.weight for hit in hits.values() for link in hit.note.links]
    assert weights == pytest.approx([0.4, 0.4], abs=1e-6)
    assert "doubt" not in fresh[other].why
    assert hits[other].why["doubt"] < 0
    assert hits[other].score == pytest.approx(sum(hits[other].why.values()))
    assert hits[other].score < fresh[other].score
    assert lived.note(one).outgoing[0].weight == 0.8


def test_without_a_policy_time_changes_nothing(days: Days) -> None:
    with open_memory(clock=days, formation="off", lifecycle=False) as memory:
        lived = Lived(memory, days, "a")
        lived.link(lived.add(CACHE), lived.add(VIOLIN), 0.8)
        before = memory.search("redis cache", namespace="a")
        lived.days += 500
        assert memory.search("redis cache", namespace="a") == before
        assert {hit.note.confidence for hit in before} == {1.0}


def test_importing_leaves_weights_that_moved_and_carries_them_elsewhere(lived: Lived) -> None:
    one, other = lived.add(CACHE), lived.add(VIOLIN)
    lived.link(one, other)
    lines = list(lived.memory.admin.export("a"))
    lived.use(one, other)
    lived.maintain()
    before = lived.note(one)
    [link] = before.outgoing
    assert link.weight != 0.5
    for replacing in (False, True):
        imported = lived.memory.admin.import_(lines, replace=replacing, trust=True)
        assert (imported.notes, imported.replaced, imported.kept) == (0, 0, 2)
        assert lived.note(one) == before
    lived.memory.admin.import_(list(lived.memory.admin.export("a")), namespace="b", trust=True)
    [carried] = [each for note in lived.memory.recent(namespace="b") for each in note.outgoing]
    lived.memory.admin.forget_namespace("b")
    assert (carried.used_at, carried.weight) == (link.used_at, pytest.approx(link.weight, abs=1e-4))
