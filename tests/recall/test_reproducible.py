"""The same notes and question give the same answer, whatever else is stored and in which order."""

from collections.abc import Sequence
from functools import partial

import pytest

from amem_integrations import AgenticMemory, Hit
from amem_integrations.core.io import IO
from amem_integrations.core.note import Link, Note, make_note
from amem_integrations.memory.wiring import Wiring
from amem_integrations.recall.search import search
from amem_integrations.recall.signals import RecallOptions
from amem_integrations.stores.write import embedded_points
from tests.recall.canned import NOW
from tests.support import open_memory

QUESTIONS = ("Which cache is slow?", "When did Ann paint the fence?", "who waters the roses")
WORDS = ["cache", "fence", "rose", "paint", "water", "slow", "roof", "garden", "ladder", "kettle"]


def texts(count: int) -> list[str]:
    return [
        f"{WORDS[n % 10]} {WORDS[n // 10 % 10]} {WORDS[n * 7 % 10]} {n % 13}" for n in range(count)
    ]


def store(memory: AgenticMemory, notes: Sequence[Note]) -> None:
    """Write notes in bulk, past accepting and forming."""

    async def insert(_: Wiring, io: IO) -> None:
        await io.engine.insert(await embedded_points(io, notes))

    memory.perform(insert)


def made(namespace: str, said: Sequence[str]) -> list[Note]:
    speakers = ("Ann", "Ben")
    return [
        make_note(
            text,
            namespace=namespace,
            now=NOW,
            key=str(n),
            speaker=speakers[n % 2],
            session="s",
            sequence=n,
        )
        for n, text in enumerate(said)
    ]


def shown(hits: Sequence[Hit]) -> list[tuple[str, float, dict[str, float]]]:
    return [(hit.note.key, hit.score, dict(hit.why)) for hit in hits]


def asked(memory: AgenticMemory) -> list[list[tuple[str, float, dict[str, float]]]]:
    return [shown(memory.search(question, namespace="mine", k=10)) for question in QUESTIONS]


def test_notes_of_other_namespaces_change_no_score_in_this_one() -> None:
    with open_memory() as memory:
        store(memory, made("mine", texts(60)))
        before = asked(memory)
        for other in range(2):
            # The very words of this one, and as many as would turn its IDF around.
            store(memory, made(f"other{other}", ["cache fence rose"] * 60 + texts(60)))
        assert asked(memory) == before


@pytest.mark.parametrize(
    "said",
    [
        texts(60),
        # More that are equal than a list is long: the engine chooses by chance.
        ["The cache is slow"] * 120,
        [f"roses {n}" for n in range(250)],
    ],
    ids=["different", "the same", "as much to do with it"],
)
def test_the_order_of_writing_changes_no_answer(said: list[str]) -> None:
    notes = made("mine", said)
    with open_memory() as one, open_memory() as two:
        store(one, notes)
        store(two, notes[::-1])
        assert asked(one) == asked(two)


def test_of_equal_notes_that_a_hub_leads_to_the_order_of_writing_chooses_none() -> None:
    crowd = made("mine", [f"A kayak trip on the river, day {n}" for n in range(120)])
    hub, *spokes = [
        make_note(text, namespace="mine", now=NOW, key=f"{n}-{text}")
        for n, text in enumerate(["My kayak leaks badly", *["zebra stripes"] * 40])
    ]
    linked = [
        spoke.evolve(links=(Link(spoke.id, hub.id, "goes with it", NOW),)) for spoke in spokes
    ]
    notes = [hub, *linked, *crowd]
    for fan_out in (4, 32):
        options = RecallOptions(damping=0.9, fold_duplicates=False, fan_out=fan_out)
        ask = partial(search, query="kayak leaks badly", namespace=("mine",), k=8, options=options)
        found: list[list[str | None]] = []
        for order in (notes, notes[::-1]):
            with open_memory() as memory:
                store(memory, order)
                hits = memory.perform(lambda _, io, ask=ask: ask(io))
                found.append([hit.note.key for hit in hits])
        assert found[0] == found[1]
        assert any("zebra" in (key or "") for key in found[0])
