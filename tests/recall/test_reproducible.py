"""The same notes and question give the same answer, whatever else is stored and in which order."""

from collections.abc import Sequence

import pytest

from amem_integrations import AgenticMemory, Hit
from amem_integrations.formation.embedding import embedded_points
from amem_integrations.note import Note, make_note
from amem_integrations.operations import Rooms
from amem_integrations.ports import IO
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

    async def insert(_: Rooms, io: IO) -> None:
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
        for other in range(5):
            # The very words of this one, and as many as would turn its IDF around.
            store(memory, made(f"other{other}", ["cache fence rose"] * 100 + texts(100)))
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
