"""Arguments of the wrong kind: refused as such, and nothing is stored or changed."""

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.filters import match
from amem_integrations.errors import InvalidInputError
from amem_integrations.stores.uses import Use, save_use
from tests.support import again, open_memory


@pytest.fixture
def memory() -> Iterator[AgenticMemory]:
    with open_memory() as opened:
        yield opened


@pytest.mark.parametrize(
    "items",
    ["The redis cache", {"content": "The redis cache"}, None, 5, [None], [5], [["content", "x"]]],
    ids=repr,
)
def test_items_that_are_no_list_of_items_are_refused(memory: AgenticMemory, items: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"list|mapping"):
        memory.add_many(items)
    assert memory.count() == 0


@pytest.mark.parametrize("metadata", [[1], "text", [["a", 1]], 5], ids=repr)
def test_an_update_with_metadata_that_is_no_mapping_is_refused(
    memory: AgenticMemory, metadata: Any
) -> None:
    note = memory.add("The redis cache", metadata={"n": 1})
    with pytest.raises(InvalidInputError, match="metadata must be a mapping"):
        memory.update(note, metadata=metadata)
    assert again(memory, note).metadata == {"n": 1}


@pytest.mark.parametrize("call", ["get", "links", "history", "update", "forget", "revert"])
def test_what_is_neither_a_note_nor_an_id_is_refused(memory: AgenticMemory, call: str) -> None:
    for note in (None, 5, b"id", uuid.UUID(int=5), ["id"]):
        with pytest.raises(InvalidInputError, match="a note or its id"):
            getattr(memory, call)(note)


@pytest.mark.parametrize("limit", [-1, 1.5, "3", None], ids=repr)
def test_a_limit_that_is_no_count_is_refused(memory: AgenticMemory, limit: Any) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        memory.recent(limit=limit)


def test_progress_that_fails_leaves_no_note_behind_unformed() -> None:
    def fails(done: int, total: int) -> None:
        raise ZeroDivisionError

    with open_memory(formation="off") as memory:
        texts = ["The redis cache", "Redis eviction"]
        with pytest.raises(ZeroDivisionError):
            memory.add_many(texts, formation="background", progress=fails)
        assert memory.flush(10)
        assert memory.admin.health()["formed"] == 2


@pytest.mark.parametrize(
    "setting",
    [
        {"formation": "later"},
        {"mode": "both"},
        {"collection": "../up"},
        {"api_key": "schlüssel"},
        {"api_key": "key\n"},
        {"neighbours": 0},
        {"neighbours": "5"},
        {"concurrency": "4"},
        {"concurrency": None},
        {"batch": "8"},
        {"batch": 2.5},
        {"model_timeout": "60"},
        {"model_timeout": True},
        {"instructions": 7},
        {"clock": 5},
    ],
    ids=repr,
)
def test_a_wrong_setting_is_refused_by_its_name(setting: dict[str, Any]) -> None:
    [name] = setting
    with pytest.raises(InvalidInputError, match=name.replace("_", "[ _]")):
        open_memory(**setting)


def test_a_note_is_named_by_itself_its_id_or_its_key(memory: AgenticMemory) -> None:
    note = memory.add("The redis cache", key="cache", namespace="shop")
    place = {"key": "cache", "namespace": "shop"}
    assert memory.get(**place) == memory.get(note) == memory.get(note.id, namespace="shop")
    assert memory.links(**place) == ()
    assert memory.history(**place) == memory.history(note)
    assert memory.update(**place, content="The violin").content == "The violin"
    assert memory.revert(**place, to_version=note.version).content == note.content
    assert memory.lifecycle.archive(**place).status == "archived"
    assert memory.lifecycle.restore(**place).status == "formed"
    assert memory.lifecycle.explain(**place).source_trust > 0
    assert memory.lifecycle.revert_cause(**place).links == 0
    assert memory.get(key="cache") is None
    assert memory.forget(**place).notes == 1
    with pytest.raises(InvalidInputError, match="got both"):
        memory.get(note, key="cache")
    with pytest.raises(InvalidInputError, match="key must be text"):
        memory.get(key=5)  # type: ignore[arg-type]


# -- the lifecycle ---------------------------------------------------------------------------


LESSON = "The violin lesson with Rosalyn is on Tuesday morning."
REPLY = "Rosalyn expects you on Tuesday."


@pytest.fixture(scope="module")
def trusting() -> Iterator[AgenticMemory]:
    with open_memory() as opened:
        yield opened


@pytest.fixture
def note(trusting: AgenticMemory) -> Iterator[Note]:
    note = trusting.add(LESSON)
    yield note
    assert again(trusting, note).version == note.version
    assert not trusting.perform(lambda _, io: io.engine.count(match("kind", "use")))


REFUSED: list[tuple[str, Callable[[AgenticMemory, Note, Any], object], list[Any]]] = [
    ("note", lambda m, note, wrong: m.lifecycle.feedback(wrong), [None, 5, [], [None], b"id"]),
    (
        "session",
        lambda m, note, wrong: m.lifecycle.feedback(note, session=wrong),
        [7, "", "\ud800"],
    ),
    ("query", lambda m, note, wrong: m.lifecycle.feedback(note, query=wrong), [5]),
    ("hits of a search", lambda m, note, wrong: m.lifecycle.feedback_from_reply(wrong, REPLY), [5]),
    (
        "reply must be text",
        lambda m, note, wrong: m.lifecycle.feedback_from_reply(m.search("violin"), wrong),
        [None, [REPLY], REPLY.encode()],
    ),
    ("Expected a proposal", lambda m, note, wrong: m.lifecycle.accept(wrong), [None, "id", 5]),
    ("Expected a proposal", lambda m, note, wrong: m.lifecycle.reject(wrong), [None, "id", 5]),
    ("Expected a plan", lambda m, note, wrong: m.lifecycle.apply(wrong), [None, "plan", []]),
    (
        "max_notes",
        lambda m, note, wrong: m.lifecycle.consolidate(dry_run=False, max_notes=wrong),
        [-1, "3", True, 1.5],
    ),
    (
        "max_age",
        lambda m, note, wrong: m.lifecycle.consolidate(dry_run=False, max_age=wrong),
        [30, "30", timedelta(days=-1)],
    ),
    (
        "similarity",
        lambda m, note, wrong: m.lifecycle.consolidate(dry_run=False, similarity=wrong),
        [2, "x", None, float("nan")],
    ),
    ("reason", lambda m, note, wrong: m.lifecycle.archive(note, reason=wrong), [None, 5, "\ud800"]),
    ("number of a version", lambda m, note, wrong: m.revert(note, only=wrong), ["1"]),
    ("number of a version", lambda m, note, wrong: m.revert(note, to_version=wrong), ["1", 1.0]),
]


@pytest.mark.parametrize(("message", "call", "values"), REFUSED)
def test_a_wrong_value_is_refused_and_changes_nothing(
    trusting: AgenticMemory,
    note: Note,
    message: str,
    call: Callable[[AgenticMemory, Note, Any], object],
    values: list[Any],
) -> None:
    for wrong in values:
        with pytest.raises(InvalidInputError, match=message):
            call(trusting, note, wrong)


def test_a_session_that_was_stored_as_a_number_does_not_stop_maintenance() -> None:
    with open_memory() as memory:
        note = memory.add(LESSON)
        use = Use("8f7d1a5e-0b0a-4b43-9d5f-0d3c8a1f2b11", note.updated_at, (note.id,), "used")
        object.__setattr__(use, "session", 7)
        memory.perform(lambda _, io: save_use(io, note.namespace, use))
        assert memory.lifecycle.maintain().uses == 1
        assert again(memory, note).life.occasions[-1] == "7"


def test_hits_may_come_one_by_one() -> None:
    with open_memory() as memory:
        memory.add(LESSON)
        hits = memory.search("When is it?")
        assert memory.lifecycle.feedback_from_reply(iter(hits), REPLY) == hits  # type: ignore[arg-type]
        assert memory.lifecycle.feedback_from_reply(iter(()), REPLY) == []  # type: ignore[arg-type]
        assert memory.lifecycle.maintain().uses == 1
