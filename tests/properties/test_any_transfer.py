"""Whatever a namespace holds: exported and imported elsewhere, it is the same again."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory
from amem_integrations.errors import InvalidInputError, InvalidLineError
from amem_integrations.langgraph import AMemStore
from tests.lifecycle.engines import open_on
from tests.support import chat_model, links_everything

HOME = ("a", 'x","y')
ELSEWHERE = ("b",)
EXAMPLES = int(os.environ.get("AMEM_TEST_EXAMPLES", "6"))

# The memories are opened once, and emptied after each example.
thorough = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

# Letters of several scripts, and characters that lines, keys or JSON could stumble over.
TEXT = st.text(st.sampled_from('ab é素🙂\n\r\u2028\u0085\x00"\\,[]{}/:'), max_size=12)
CONTENT = st.builds(
    lambda words, text: f"{words} {text}",
    st.sampled_from(["The redis cache", "Redis eviction", "The violin lesson", "素菜馆的座位"]),
    TEXT,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ABOUT = st.fixed_dictionaries(
    {},
    optional={
        "key": TEXT,
        "speaker": TEXT,
        "session": st.sampled_from(["s1", "s2"]),
        "sequence": st.integers(-(2**63), 2**63 - 1),
        "occurred_at": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
        "metadata": st.dictionaries(TEXT, JSON, max_size=3),
    },
)
STEP = st.one_of(
    st.tuples(st.just("add"), CONTENT, ABOUT, st.sampled_from(["inline", "inline", "off"])),
    st.tuples(st.just("put"), TEXT, st.dictionaries(TEXT, JSON, max_size=2), st.booleans()),
    st.tuples(st.just("update"), st.integers(0, 9), CONTENT),
    st.tuples(st.just("revert"), st.integers(0, 9)),
    st.tuples(st.just("forget"), st.integers(0, 9)),
)


def take(memory: AgenticMemory, step: Any) -> None:
    """One step; what cannot be done is left out."""
    with suppress(InvalidInputError):
        match step:
            case ("add", content, about, formation):
                memory.add(content, namespace=HOME, formation=formation, **about)
            case ("put", key, value, kept_for_good):
                ttl = None if kept_for_good else 60.5
                AMemStore(memory, formation="off").put(HOME, key, value, ttl=ttl)
            case (_, place, *rest):
                if notes := memory.recent(namespace=HOME, limit=10):
                    getattr(memory, step[0])(notes[place % len(notes)], *rest)
            case _:
                raise AssertionError(step)


def found(memory: AgenticMemory, namespace: Any) -> dict[str, float]:
    hits = memory.search("redis cache eviction", namespace=namespace, k=50, hops=0)
    return {hit.note.key: hit.score for hit in hits}


@pytest.fixture(scope="module")
def source() -> Iterator[AgenticMemory]:
    with open_on("embedded", model=chat_model(links_everything), neighbours=3) as memory:
        yield memory


@pytest.fixture(scope="module", params=["embedded", "local"])
def target(request: pytest.FixtureRequest) -> Iterator[AgenticMemory]:
    with open_on(request.param) as memory:
        yield memory


def lines_after(source: AgenticMemory, steps: list[Any]) -> list[bytes]:
    """The export of a namespace in which the steps were taken, beside that of another user."""
    for namespace in source.namespaces():
        source.admin.forget_namespace(namespace)
    for step in steps:
        take(source, step)
    source.add("Somebody else's redis cache", namespace="a", formation="off")
    lines = [line.encode() for line in source.admin.export(HOME)]
    assert b"Somebody" not in b"".join(lines)
    assert not any(mark in line for line in lines for mark in (b"\n", b"\r"))
    return lines


def exported(memory: AgenticMemory, namespace: Any) -> list[bytes]:
    return [line.encode() for line in memory.admin.export(namespace)]


@thorough
@given(steps=st.lists(STEP, min_size=1, max_size=8))
def test_what_is_imported_is_what_was_exported(
    source: AgenticMemory, target: AgenticMemory, steps: list[Any]
) -> None:
    lines = lines_after(source, steps)
    try:
        for namespace in (HOME, ELSEWHERE):
            imported = target.admin.import_(lines, namespace=namespace, trust=True)
            assert (imported.notes, imported.complete) == (len(lines) - 2, True)
            assert (imported.links, imported.mentions, imported.histories) == (0, 0, 0)
            assert exported(target, namespace)[1:] == lines[1:]
            again = target.admin.import_(lines, namespace=namespace, trust=True)
            assert (again.notes, again.replaced, again.kept) == (0, 0, len(lines) - 2)
            assert exported(target, namespace)[1:] == lines[1:]
            # Last, as being found prolongs what has a TTL; and scores fall with every moment.
            assert found(target, namespace) == pytest.approx(found(source, HOME), abs=0.01)
        assert target.admin.check() == []
        raw = sum(b'"status": "raw"' in line for line in lines)
        assert target.count(HOME) == target.count(ELSEWHERE) == len(lines) - 2
        assert sum(target.admin.health(each).get("raw", 0) for each in (HOME, ELSEWHERE)) == 2 * raw
    finally:
        for namespace in (HOME, ELSEWHERE):
            target.admin.forget_namespace(namespace)


@thorough
@given(
    steps=st.lists(STEP, min_size=1, max_size=8),
    cut=st.integers(0, 8),
    shuffle=st.randoms(use_true_random=False),
)
def test_some_lines_in_any_order_leave_a_whole_memory_and_can_be_completed(
    source: AgenticMemory, target: AgenticMemory, steps: list[Any], cut: int, shuffle: Any
) -> None:
    header, *notes, end = lines_after(source, steps)
    shuffle.shuffle(notes)
    try:
        some = target.admin.import_([header, *notes[:cut]], namespace=ELSEWHERE, trust=True)
        assert (some.notes, some.missing) == (len(notes[:cut]), None)
        assert target.admin.check() == []
        with pytest.raises(InvalidLineError) as caught:
            target.admin.import_([header, *notes, b'{"key": 1}'], namespace=ELSEWHERE, trust=True)
        assert caught.value.line == len(notes) + 2
        assert target.admin.check() == []
        assert sorted(exported(target, ELSEWHERE)[1:-1]) == sorted(notes)
        again = target.admin.import_([header, *notes, end], namespace=ELSEWHERE, trust=True)
        assert (again.kept, again.complete) == (len(notes), True)
    finally:
        target.admin.forget_namespace(ELSEWHERE)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


@settings(max_examples=5 * EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_line_whatever_it_holds_damages_a_memory(
    sane: list[str], target: AgenticMemory, data: Any
) -> None:
    target.add("Somebody else's", namespace="b", formation="off")
    theirs = exported(target, "b")
    lines = list(sane)
    number = data.draw(st.integers(0, len(lines) - 1))
    lines[number] = data.draw(st.just(lines[number]).map(json.loads).flatmap(_spoilt))
    try:
        with suppress(InvalidInputError):
            target.admin.import_(lines, namespace="a", trust=True)
        assert target.admin.check() == []
        assert exported(target, "b") == theirs
        assert set(target.namespaces()) <= {("a",), ("b",)}
        again = exported(target, "a")
        target.admin.import_(again, namespace="c", trust=True)
        assert exported(target, "c")[1:] == again[1:]
    finally:
        for namespace in target.namespaces():
            target.admin.forget_namespace(namespace)


@st.composite
def _spoilt(draw: st.DrawFn, line: Any) -> str:
    """The line with something else in one place."""
    place, key = line, draw(st.sampled_from(sorted(line)))
    while isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
        place = place[key]
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = draw(JUNK)
    return json.dumps(line)


@pytest.fixture(scope="module")
def sane(source: AgenticMemory) -> list[str]:
    for n, text in enumerate(("The redis cache", "Redis eviction", "The violin lesson")):
        source.add(
            text,
            namespace="sane",
            speaker="Ann",
            session="s",
            sequence=n,
            occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
            metadata={"a": [1]},
        )
    AMemStore(source, formation="off").put(("sane",), "tea", {"x": "green tea"}, ttl=5)
    return list(source.admin.export("sane"))
