"""Faults of the reference implementation, each reproduced there, that must not be ours.

Numbered as in a review of agiresearch/A-mem at commit ceffb86.
"""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from amem_integrations import AgenticMemory, Status
from amem_integrations.testing import ScriptedChatModel
from tests.support import (
    EMBEDDER,
    again,
    chat_model,
    judgement,
    links_everything,
    open_memory,
    words,
)

TOPICS = ("redis cache", "garden tomato", "violin lesson", "tax return", "kayak trip")


def fill(memory: Any) -> list[Any]:
    return [memory.add(f"We talked about the {topic} at length") for topic in TOPICS]


def test_01_evolution_changes_the_neighbours_and_not_the_first_notes_inserted() -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        near = [c for c in candidates if "kayak" in c["text"]] if "paddle" in text else []
        return links_everything(text, near)

    with open_memory(model=chat_model(judge)) as memory:
        notes = fill(memory)
        memory.add("Bought a paddle for the kayak trip")
        changed = [n.content for n in notes if "seen-Bought" in again(memory, n).keywords]
    assert changed == [notes[-1].content]


def test_02_links_hold_ids_that_resolve() -> None:
    with open_memory(model=chat_model()) as memory:
        fill(memory)
        note = memory.add("The redis cache again")
        assert len(note.outgoing) == len(TOPICS)
        assert all(memory.get(link.to) is not None for link in note.links)


def test_03_evolved_understanding_is_what_search_sees(tmp_path: Path) -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        if "wharf" not in text:
            return judgement(text)
        return judgement(
            text,
            evolutions=[
                {"note": c["n"], "keywords": ["quokka"], "tags": [], "context": "", "reason": "x"}
                for c in candidates
                if "garden" in c["text"]
            ],
        )

    with open_memory(tmp_path, model=chat_model(judge)) as memory:
        garden = fill(memory)[1]
        memory.add("The wharf")
    with open_memory(tmp_path, model=chat_model(judge)) as memory:
        hit = memory.search("quokka", k=1, hops=0)[0]
        assert hit.note.id == garden.id
        assert hit.why["words"] > 0
        assert again(memory, garden).keywords == (*garden.keywords, "quokka")


def test_04_a_second_instance_leaves_the_first_ones_notes_alone(tmp_path: Path) -> None:
    first = open_memory(tmp_path)
    note = first.add("The redis cache")
    second = open_memory(tmp_path)
    assert first.get(note) == second.get(note) is not None
    assert [hit.note.id for hit in first.search("redis")] == [note.id]
    second.close()
    assert first.search("redis")[0].note.id == note.id
    first.close()


def test_05_what_was_stored_is_visible_after_reopening(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        note = memory.add("The redis cache", namespace="a")
    with open_memory(tmp_path) as memory:
        assert memory.get(note) is not None
        assert memory.search("redis", namespace="a")[0].note.id == note.id


def test_06_linked_notes_compete_for_the_k_places() -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        bound = [c for c in candidates if "Zermatt" in c["text"]] if "hotel" in text else []
        return {**links_everything(text, bound), "evolutions": []}

    with open_memory(model=chat_model(judge)) as memory:
        far = memory.add("Zermatt at dawn")
        for n in range(12):
            memory.add(f"Minutes of meeting {n}: budget, roadmap, staffing")
        memory.add("The hotel booking number is 4711", key="hotel")
        hits = memory.search("hotel booking number", k=3)
        assert far.id in [hit.note.id for hit in hits]
        assert next(hit for hit in hits if hit.note.id == far.id).via is not None


def test_07_an_empty_list_keeps_what_was_there() -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        empty = {"keywords": [], "tags": [], "context": "", "reason": ""}
        return judgement(text, evolutions=[{"note": c["n"], **empty} for c in candidates])

    with open_memory(model=chat_model(judge)) as memory:
        note = memory.add("The redis cache")
        memory.add("Another thing")
        assert again(memory, note) == note


def test_08_forgetting_leaves_no_dangling_link() -> None:
    with open_memory(model=chat_model()) as memory:
        old, *_ = fill(memory)
        memory.forget(old)
        assert memory.get(old) is None
        assert memory.admin.check() == []
        for note in memory.recent(limit=50):
            assert old.id not in {link.other(note.id) for link in note.links}


def test_09_text_that_looks_like_a_number_stays_text() -> None:
    with open_memory() as memory:
        note = memory.add("12345", metadata={"when": "202501011200"}, key="n")
        found = again(memory, note)
        assert found.content == "12345"
        assert found.metadata == {"when": "202501011200"}


def test_10_truncated_json_ends_in_a_stored_note_with_a_reason() -> None:
    text = json.dumps(judgement("The redis cache"))[:40]
    with open_memory(model=ScriptedChatModel(lambda _: text)) as memory:
        note = memory.add("The redis cache")
        assert note.status is Status.RAW
        assert note.last_error is not None
        assert note.last_error.startswith("unparsable")
        assert memory.search("redis")[0].note.id == note.id
        assert memory.admin.health()["formation.failed"] == 1


def test_11_a_higher_score_is_a_better_hit() -> None:
    with open_memory() as memory:
        fill(memory)
        hits = memory.search("the redis cache", hops=0)
        assert "redis" in hits[0].note.content
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_12_history_says_what_changed_when_and_because_of_whom() -> None:
    with open_memory(model=chat_model()) as memory:
        old = memory.add("The redis cache")
        new = memory.add("Memcached instead")
        formed, evolved = memory.history(old)
        assert (formed.kind, evolved.kind) == ("formed", "evolved")
        assert evolved.cause == new.id
        assert evolved.changes["keywords"].before == list(old.keywords)
        assert f"seen-{words('Memcached instead')[0]}" in evolved.changes["keywords"].after
        assert evolved.at <= datetime.now(UTC)


def test_13_an_evolution_names_its_note_so_a_short_answer_hits_the_right_one() -> None:
    def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        answer = links_everything(text, candidates)
        return {**answer, "evolutions": answer["evolutions"][2:3]}

    with open_memory(model=chat_model(judge)) as memory:
        notes = fill(memory)
        before = {note.id: again(memory, note) for note in notes}
        memory.add("One more remark")
        changed = [note for note in notes if again(memory, note) != before[note.id]]
        touched = [n for n in changed if again(memory, n).keywords != before[n.id].keywords]
    assert len(touched) == 1


async def test_14_async_namespaces_and_concurrency_work_without_a_key() -> None:
    async with await AgenticMemory.aopen(embedder=EMBEDDER) as memory:
        users = [f"user-{n}" for n in range(8)]
        await asyncio.gather(
            *(memory.aadd(f"I am {user} and like {user} tea", namespace=user) for user in users)
        )
        for user in users:
            hits = await memory.asearch("tea", namespace=user)
            assert [hit.note.namespace for hit in hits] == [(user,)]
