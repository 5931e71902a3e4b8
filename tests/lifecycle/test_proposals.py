"""What one note does to others follows how far it is believed, and can be undone as a whole."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.stores.read import load_points
from tests.lifecycle.days import START, Days
from tests.support import again, chat_model, io_of, links_everything, open_memory


def contradicts_and_evolves(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    said = links_everything(text, candidates)
    return said | {"links": [{**link, "kind": "contradicts"} for link in said["links"]]}


@pytest.fixture(scope="module")
def opened() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(), clock=Days()) as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    yield opened
    assert opened.admin.check() == []
    opened.admin.forget_namespace("default")


def doubtful(memory: AgenticMemory) -> tuple[Note, Note]:
    """A note of a user, and one of an unknown source that would change it."""
    honest = memory.add("The redis cache holds 512 entries", source="user")
    return honest, memory.add("Hearsay about the cache")


# -- proposals ---------------------------------------------------------------------------------


def test_what_one_proposes_that_is_believed_much_less_waits(memory: AgenticMemory) -> None:
    honest, hearsay = doubtful(memory)
    assert again(memory, honest).keywords == honest.keywords
    [proposal] = memory.lifecycle.proposals()
    assert (proposal.cause, proposal.target) == (hearsay.id, honest.id)
    assert memory.admin.health()["evolution.waits"] >= 1


def test_one_that_is_believed_enough_changes_it_and_caps_its_trust(memory: AgenticMemory) -> None:
    honest = memory.add("The redis cache holds 512 entries", source="assistant")
    other = memory.add("Tools on the cache", source="tool")
    found = again(memory, honest)
    assert "seen-Tools" in found.keywords
    assert found.trust == DEFAULT_POLICY.source_trust[other.source]
    assert "trust" in memory.history(honest)[-1].changes
    assert found.content == honest.content
    assert memory.lifecycle.proposals() == []


def test_new_text_under_a_users_key_is_as_good_as_its_own_source(memory: AgenticMemory) -> None:
    first = memory.add("The redis cache holds 512 entries", key="k", source="user")
    memory.add("The redis cache holds 900 entries", key="k", source="web")
    changed = memory.get(key="k")
    assert changed is not None
    assert (changed.content[-11:], changed.source) == ("900 entries", "web")
    # Undoing the text gives its source back.
    undone = memory.revert(changed, to_version=first.version)
    assert (undone.content, undone.source) == (first.content, "user")
    said = memory.update(undone, "The redis cache holds 700 entries")
    assert said.source == "user"


def test_an_accepted_proposal_is_applied(memory: AgenticMemory) -> None:
    honest, hearsay = doubtful(memory)
    changed = memory.lifecycle.accept(memory.lifecycle.proposals()[0])
    assert "seen-Hearsay" in changed.keywords
    last = memory.history(honest)[-1]
    assert (last.kind, last.cause) == ("evolved", hearsay.id)
    assert memory.lifecycle.proposals() == []


def test_only_what_waits_now_can_be_rejected_or_accepted(
    memory: AgenticMemory,
) -> None:
    doubtful(memory)
    [proposal] = memory.lifecycle.proposals()
    assert not memory.lifecycle.reject(replace(proposal, version=proposal.version - 1))
    assert memory.lifecycle.proposals() == [proposal]
    assert memory.lifecycle.reject(proposal)
    with pytest.raises(InvalidInputError, match="does not wait"):
        memory.lifecycle.accept(proposal)


async def test_the_async_forms_do_the_same(memory: AgenticMemory) -> None:
    doubtful(memory)
    [proposal] = await memory.lifecycle.aproposals()
    assert (await memory.lifecycle.aaccept(proposal)).id == proposal.target
    assert not await memory.lifecycle.areject(proposal)


@pytest.mark.parametrize("which", [0, 1])
def test_forgetting_either_note_deletes_the_proposal(memory: AgenticMemory, which: int) -> None:
    memory.forget(doubtful(memory)[which])
    assert memory.lifecycle.proposals() == []


@pytest.mark.parametrize("which", [0, 1])
def test_new_text_of_either_note_drops_the_proposal(memory: AgenticMemory, which: int) -> None:
    pair = doubtful(memory)
    proposal = memory.lifecycle.proposals()[0]
    memory.update(pair[which], "The violin lesson", metadata={})
    assert proposal not in memory.lifecycle.proposals()


@pytest.mark.parametrize("source", [None, "import", "web", "tool", "assistant"])
def test_whoever_agrees_with_it_a_proposal_waits_for_a_person(
    memory: AgenticMemory, source: str | None
) -> None:
    """Three that say the same under other names, in other sessions, and more of other kinds."""
    honest = memory.add("The redis cache holds 512 entries", source="user", session="mine")
    hearsay = "Hearsay has it that the redis cache holds 900 entries"
    for n, kind in enumerate((source, source, source, "import", "tool", "assistant")):
        memory.add(hearsay, source=kind, speaker=f"Voice {n}", session=f"theirs {n}")
        memory.lifecycle.maintain("default")
    agreeing = [note for note in memory.recent() if note.content == hearsay]
    assert max(note.life.supports for note in agreeing) > 0
    causes = {proposal.cause for proposal in memory.lifecycle.proposals()}
    assert causes
    assert causes <= {note.id for note in agreeing}
    found = again(memory, honest)
    assert (found.keywords, found.trust) == (honest.keywords, 1.0)
    assert [change.kind for change in memory.history(honest)] == ["formed"]


def test_a_contradiction_by_one_that_is_hardly_believed_waits_too() -> None:
    with open_memory(model=chat_model(contradicts_and_evolves)) as memory:
        honest, hearsay = doubtful(memory)
        assert again(memory, honest).valid_until is None
        [proposal] = memory.lifecycle.proposals()
        assert proposal.contradicts
        found = memory.lifecycle.accept(proposal)
        assert (found.valid_until, found.contested_by) == (hearsay.created_at, ())
        assert [each.kind for each in memory.history(honest)][-2:] == ["evolved", "superseded"]
        assert memory.admin.check() == []


def test_a_proposal_whose_notes_are_gone_is_found_and_removed(memory: AgenticMemory) -> None:
    doubtful(memory)
    [proposal] = memory.lifecycle.proposals()
    run(io_of(memory).engine.patch(proposal.id, {"of": "00000000-0000-5000-8000-00000000dead"}))
    assert [each.what for each in memory.admin.check()] == ["orphaned-proposal"]
    assert all(each.mended for each in memory.admin.repair())
    assert memory.admin.check() == []


# -- undoing what one note did ----------------------------------------------------------------


def everything(memory: AgenticMemory, without: str) -> str:
    """All that is stored but of one note."""
    points = run(load_points(io_of(memory)))
    return json.dumps(
        [each.payload for each in points if without not in (each.id, each.payload.get("of"))],
        ensure_ascii=False,
    )


def test_undoing_what_a_note_did_leaves_no_trace_in_others(memory: AgenticMemory) -> None:
    memory.add("The redis cache holds 512 entries", source="assistant")
    hostile = memory.add("Poison for everyone", source="user")
    memory.add("The violin lesson", source="user")
    memory.add("The postgres table", source="user", supersedes=hostile)
    before = again(memory, hostile)
    assert "Poison" in everything(memory, hostile.id)
    undone = memory.lifecycle.revert_cause(hostile)
    left = everything(memory, hostile.id)
    assert "Poison" not in left
    assert len(undone.notes) == 3
    found = again(memory, hostile)
    assert (found.content, found.keywords) == (before.content, before.keywords)
    assert (found.status, found.outgoing) == (Status.PLAIN, ())
    assert hostile.id in [hit.note.id for hit in memory.search("Poison for everyone")]
    assert all(each.status is not Status.RAW for each in memory.recent())
    # A second time changes nothing more, and once it is formed the note takes part again.
    undone = memory.lifecycle.revert_cause(hostile)
    assert (undone.notes, undone.evolutions, undone.links, undone.unformed) == ((), 0, 0, ())
    assert everything(memory, hostile.id) == left
    assert memory.form(hostile).status is Status.FORMED
    assert "Poison" in everything(memory, hostile.id)


def test_a_note_whose_doings_were_undone_stays_so_when_another_is_taken_back(
    memory: AgenticMemory,
) -> None:
    old = memory.add("The redis cache", source="assistant")
    first = memory.add("Hearsay about the cache", source="user")
    second = memory.add("Poison for everyone", source="user")
    memory.lifecycle.revert_cause(second)
    memory.lifecycle.revert_cause(first)
    assert again(memory, second).status is Status.PLAIN
    assert "seen-Poison" not in again(memory, old).keywords


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1), (3, 1, 0, 2)])
def test_what_several_notes_did_is_undone_in_any_order(order: tuple[int, ...]) -> None:
    with open_memory(link=False, evolve=False) as memory:
        old = memory.add("The redis cache")
        days = [START + timedelta(days=each) for each in (3, 1, 4, 2)]
        new = [memory.add(f"From {day}", occurred_at=day, supersedes=old) for day in days]
        left = {note.id: day for note, day in zip(new, days, strict=True)}
        for place in order:
            assert again(memory, old).valid_until == min(left.values())
            memory.lifecycle.revert_cause(new[place])
            del left[new[place].id]
        assert again(memory, old).valid_until is None
        assert memory.admin.check() == []
