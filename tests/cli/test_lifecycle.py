"""The commands with which somebody decides: lifecycle, revert, forget."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.core.note import note_id
from amem_integrations.core.status import Life
from amem_integrations.lifecycle.audits import audit
from amem_integrations.stores.codec import life_fields
from amem_integrations.testing import HashEmbedder
from tests.cli.console import call, printed
from tests.support import again, chat_model, io_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def test_a_plan_is_shown_and_done_only_when_asked(shop: tuple[str, ...]) -> None:
    shown = call("lifecycle", "consolidate", *shop)
    assert shown.exit_code == 0
    assert "nothing was changed yet" in shown.stdout
    assert shown.stderr == "--yes does it.\n"
    [merge] = printed("lifecycle", "consolidate", *shop)["merges"]
    done = printed("lifecycle", "consolidate", *shop, "--yes")
    assert (done["applied"], done["merges"][0]["into"]) == (True, merge["into"])
    assert call("lifecycle", "consolidate", *shop, "--yes").stdout == "shop: nothing to do\n"


def test_a_merged_note_can_be_brought_back_and_forgotten_without_what_it_went_into(
    shop: tuple[str, ...],
) -> None:
    call("lifecycle", "consolidate", *shop, "--yes")
    assert printed("show", "again", *shop)["notes"][0]["key"] == "size"
    assert printed("lifecycle", "restore", "again", *shop)["notes"][0]["key"] == "again"
    call("lifecycle", "consolidate", *shop, "--yes")
    assert call("forget", "again", *shop, "--yes").exit_code == 0
    assert printed("show", "size", *shop)["notes"][0]["key"] == "size"
    assert call("show", "again", *shop).exit_code == 1


def test_a_change_can_be_reverted_by_version(shop: tuple[str, ...]) -> None:
    call("add", "The violin lesson moves to Friday", "--key", "violin", *shop)
    [note] = printed("show", "violin", *shop)["notes"]
    assert note["content"].endswith("Friday")
    updated = next(each for each in note["revisions"] if each["kind"] == "updated")
    back = printed("revert", "violin", *shop, "--to-version", str(updated["version"] - 1))
    assert back["notes"][0]["content"].endswith("Tuesday")
    shown = call("revert", "violin", *shop).stdout
    assert "content   The violin lesson moves to Friday" in shown


def test_one_revert_takes_a_correction_back_and_every_command_says_so(
    shop: tuple[str, ...],
) -> None:
    parts = ("content", "keywords", "tags", "context", "status", "valid_until")
    [before] = printed("show", "violin", *shop)["notes"]
    figures = printed("health", *shop)
    call("add", "The violin lesson moves to Friday", "--key", "violin", *shop)
    [reverted] = printed("revert", "violin", *shop)["notes"]
    [shown] = printed("show", "violin", *shop)["notes"]
    assert [shown.get(name) for name in parts] == [before.get(name) for name in parts]
    assert reverted["content"] == shown["content"]
    assert shown.get("last_error") is None
    found = printed("search", before["content"], *shop)
    assert found["hits"][0]["note"]["key"] == "violin"
    after = printed("health", *shop)
    names = ("notes", "raw", "formed", "parked", "formation.failed")
    assert [after.get(name) for name in names] == [figures.get(name) for name in names]


def put_under_audit(memory: AgenticMemory, key: str) -> None:
    id = note_id(("shop",), key)
    life = Life(conflicting=3, conflicts=(NOW, NOW, NOW))
    run(io_of(memory).engine.patch(id, life_fields(life)))
    note = memory.get(id, namespace="shop")
    assert note is not None
    run(audit(io_of(memory), note, "3 conflicting uses"))


def test_an_audit_is_listed_with_why_and_settled(
    memory: AgenticMemory, shop: tuple[str, ...]
) -> None:
    assert call("lifecycle", "audits", *shop).stdout == "Nothing is under audit.\n"
    put_under_audit(memory, "cache")
    [found] = printed("lifecycle", "audits", *shop)["audits"]
    assert (found["key"], found["reason"]) == ("cache", "3 conflicting uses")
    assert "3 conflicting uses" in call("lifecycle", "audits", *shop).stdout
    assert call("lifecycle", "resolve", "cache", "perhaps", *shop).exit_code == 2
    right = ("--content", "Calvin wants LFU")
    note = printed("lifecycle", "resolve", "cache", "correct", *right, *shop)["notes"][0]
    assert note["content"] == "Calvin wants LFU"
    assert printed("lifecycle", "audits", *shop) == {"audits": []}


@pytest.fixture
def doubted(memory: AgenticMemory, home: Path) -> Path:
    """Where hearsay would change two notes of a user's."""
    with AgenticMemory(home, embedder=HashEmbedder(), model=chat_model()) as strict:
        for text in ("The redis cache holds 512 entries", "The redis cache is new"):
            strict.add(text, key=text[-3:], source="user")
        strict.add("Hearsay about the redis cache", key="hearsay")
    return home


def test_a_proposal_is_listed_and_accepted_or_dropped(memory: AgenticMemory, doubted: Path) -> None:
    first, second = printed("lifecycle", "proposals", "-l", doubted)["proposals"]
    shown = call("lifecycle", "proposals", "-l", doubted).stdout
    assert first["id"] in shown
    assert "by" in shown
    assert "keywords: " in shown
    note = printed("lifecycle", "accept", first["id"][:13], "-l", doubted)["notes"][0]
    assert note["id"] == first["target"]
    assert "seen-Hearsay" in note["keywords"]
    done = printed("lifecycle", "reject", second["id"], "-l", doubted)
    assert done == {"id": second["id"], "rejected": True}
    assert call("lifecycle", "proposals", "-l", doubted).stdout == "No proposal waits.\n"
    assert "seen-Hearsay" not in again(memory, second["target"]).keywords


@pytest.mark.parametrize(
    ("beginning", "said"), [("zz", "No proposal begins"), ("", "2 proposals begin")]
)
def test_a_proposal_is_named_by_a_beginning_of_its_own(
    doubted: Path, beginning: str, said: str
) -> None:
    result = call("lifecycle", "accept", beginning, "-l", doubted)
    assert result.exit_code == 1
    assert said in result.stderr


def test_forgetting_asks_first_and_says_what_it_removed(shop: tuple[str, ...]) -> None:
    kept = call("forget", "violin", *shop, input="n\n")
    assert kept.exit_code == 1
    assert "Forget violin?" in kept.stderr
    assert call("show", "violin", *shop).exit_code == 0
    done = call("forget", "violin", *shop, input="y\n")
    assert done.exit_code == 0
    assert done.stdout.endswith("1 note removed.\n")
    assert call("show", "violin", *shop).exit_code == 1


def test_several_notes_can_be_forgotten_and_their_traces_are_counted(
    shop: tuple[str, ...],
) -> None:
    result = call("forget", "violin", "cache", *shop, "--yes")
    assert result.stdout.startswith("2 notes removed")
    assert "links of other notes removed: " in result.stdout


def test_notes_that_meet_a_filter_or_all_can_be_forgotten(shop: tuple[str, ...]) -> None:
    filter = '{"key": {"$in": ["cache", "size"]}}'
    result = call("forget", "--where", filter, *shop, input="y\n")
    assert "Forget every note of namespace shop that meets" in result.stderr
    assert "2 notes removed" in result.stdout
    result = call("forget", "--all", *shop, input="y\n")
    assert "Forget all 2 notes of namespace shop?" in result.stderr
    assert result.stdout.endswith("2 notes removed.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name the notes to forget"),
        (("violin", "--all"), "one of these"),
        (("--where", "{}"), "asks for nothing"),
        (("--where", "["), "--where is not JSON"),
        (("nothing",), "no note 'nothing'"),
    ],
)
def test_what_is_to_be_forgotten_must_be_clear(
    shop: tuple[str, ...], arguments: tuple[str, ...], message: str
) -> None:
    result = call("forget", *arguments, *shop, "--yes")
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(printed("recent", *shop)["notes"]) == 4
