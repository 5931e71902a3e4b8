"""The commands with which somebody decides: consolidate, restore, revert, audits, proposals."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli import options
from amem_integrations.core.io import run
from amem_integrations.core.status import Life
from amem_integrations.lifecycle.audits import audit
from amem_integrations.stores.codec import life_fields
from amem_integrations.testing import HashEmbedder
from tests.cli.console import call, fill, hashed, kept, printed
from tests.support import again, chat_model, io_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "resolve_embedder", hashed)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgenticMemory]:
    with kept(tmp_path_factory.mktemp("settling") / "memory") as memory:
        yield memory


@pytest.fixture
def home(memory: AgenticMemory) -> str:
    return str(memory.options.location)


@pytest.fixture
def shop(memory: AgenticMemory, home: str) -> Iterator[tuple[str, ...]]:
    """Where the four notes are, as options."""
    fill(memory)
    yield "-l", home, "-n", "shop"
    memory.admin.forget_namespace("shop")


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


def put_under_audit(memory: AgenticMemory, key: str) -> None:
    [note] = [each for each in memory.recent(namespace="shop") if each.key == key]
    life = Life(conflicting=3, conflicts=(NOW, NOW, NOW))
    run(io_of(memory).engine.patch(note.id, life_fields(life)))
    [note] = [each for each in memory.recent(namespace="shop") if each.key == key]
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
def doubted(memory: AgenticMemory, home: str) -> Iterator[str]:
    """Where hearsay would change two notes of a user's."""
    with AgenticMemory(home, embedder=HashEmbedder(), model=chat_model(), lifecycle=True) as strict:
        for text in ("The redis cache holds 512 entries", "The redis cache is new"):
            strict.add(text, key=text[-3:], source="user")
        strict.add("Hearsay about the redis cache", key="hearsay")
    yield home
    memory.admin.forget_namespace("default")


def test_a_proposal_is_listed_and_accepted_or_dropped(memory: AgenticMemory, doubted: str) -> None:
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
    doubted: str, beginning: str, said: str
) -> None:
    result = call("lifecycle", "accept", beginning, "-l", doubted)
    assert result.exit_code == 1
    assert said in result.stderr
