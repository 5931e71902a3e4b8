"""How far links keep to what is alike anyway."""

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.io import run
from amem_integrations.core.note import Link
from amem_integrations.lifecycle.co_use import clusters, echo_index
from amem_integrations.lifecycle.maintenance import maintain
from amem_integrations.lifecycle.policy import Policy
from tests.lifecycle.days import START as NOW
from tests.lifecycle.days import Days, Lived
from tests.support import io_of, open_memory


def links(*pairs: str) -> list[Link]:
    return [Link(one, other, "x", NOW) for one, other in pairs]


HALVES = {"a": 0, "b": 0, "c": 1, "d": 1}
THIRDS = {**HALVES, "e": 2, "f": 2}
WEAK = Link("a", "c", "x", NOW, weight=0.01)


@pytest.mark.parametrize(
    ("clusters", "links", "expected"),
    [
        (HALVES, links("ab", "cd"), 0.5),
        (THIRDS, links("ab", "cd", "ef"), 2 / 3),
        (HALVES, links("ac", "bd"), -0.5),
        (HALVES, links("ab", "cd", "ac", "bd"), 0.0),
        (HALVES, [*links("ab", "cd"), WEAK], 0.495),
        ({"a": 0, "b": 0}, links("ab"), 0.0),
        ({"a": 0, "b": 1}, [], 0.0),
    ],
)
def test_the_echo_index_is_the_share_of_link_weight_inside_clusters(
    clusters: dict[str, int], links: list[Link], expected: float
) -> None:
    assert echo_index(clusters, links) == pytest.approx(expected, abs=1e-3)


def test_vectors_that_are_alike_are_a_cluster() -> None:
    found = clusters([[1.0, 0.0], [9.0, 0.1], [0.0, 1.0], [0.1, 5.0]])
    assert found[0] == found[1] != found[2] == found[3]


@pytest.mark.parametrize("vectors", [[], [[1.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0]] * 5])
def test_any_vectors_have_clusters(vectors: list[list[float]]) -> None:
    assert len(clusters(vectors)) == len(vectors)


def directions(texts: list[str]) -> list[list[float]]:
    """Texts of one first word point one way."""
    ways = {"cache": 0, "violin": 1, "rent": 2, "cat": 3}
    return [[float(ways.get(text.split()[0], 3) == way) for way in range(4)] for text in texts]


@pytest.fixture
def memory() -> AgenticMemory:
    return open_memory(clock=Days(), formation="off", embedder=directions)


@pytest.mark.parametrize(("index", "co_used"), [(0.4, 1), (0.9, 0)])
def test_a_high_echo_index_makes_co_use_links_after_fewer_sessions(
    memory: AgenticMemory, index: float, co_used: int
) -> None:
    days: Days = memory.options.clock  # type: ignore[assignment]
    lived = Lived(memory, days, "a")
    ids = [lived.add(f"{word} {n}") for word in ("cache", "violin") for n in range(2)]
    lived.link(ids[0], ids[1])
    lived.link(ids[2], ids[3])
    for session in ("t", "u"):
        lived.use(ids[0], ids[2], session=session)
        lived.use(ids[1], ids[0], session=session)
    done = run(maintain(io_of(memory), ("a",), Policy(max_echo=index), "tests"))
    assert done.co_used == co_used
    memory.close()
