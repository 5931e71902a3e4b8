"""Search with canned answers: what the engine is asked, and what becomes of its answers."""

import pytest

from amem_integrations.core.engine import SparseVector
from amem_integrations.core.filters import Match
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidFilterError, InvalidInputError
from amem_integrations.recall.fusion import list_notes
from amem_integrations.recall.query import read_question, scope_of
from amem_integrations.recall.search import MAX_EMBEDDED_CHARS, search
from amem_integrations.recall.signals import RecallOptions
from amem_integrations.stores.codec import within
from tests.recall.canned import NOW, Canned, texts

NS = ("calvin",)


def find(canned: Canned, query: str = "what about it", **options: object) -> list[Hit]:
    return run(search(canned.io, query, namespace=NS, **options))  # pyright: ignore[reportArgumentType]


@pytest.fixture
def three(canned: Canned) -> Canned:
    for name in ("cache", "lunch", "holiday"):
        canned.add(name)
    canned.answer({"cache": 0.7, "lunch": 0.4, "holiday": 0.1}, {"cache": 4.0, "holiday": 1.0}, {})
    return canned


def test_hits_come_best_first_with_contributions_that_sum_to_the_score(three: Canned) -> None:
    hits = find(three)
    assert texts(hits) == ["cache", "lunch", "holiday"]
    assert hits[0].why.keys() == {"meaning", "words", "statement"}
    assert hits[1].why.keys() == {"meaning", "statement"}
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.why.values()))
        assert hit.via is None


def test_a_search_takes_few_round_trips_and_reads_each_note_once(three: Canned) -> None:
    find(three)
    assert three.engine.calls == ["facet", "query", "get", "query"]
    assert three.embedder.texts == ["what about it"]


def test_every_query_is_scoped_to_the_namespace_and_idf_is_taken_over_it(three: Canned) -> None:
    find(three)
    for query in three.engine.queries:
        assert Match("ns", ('["calvin"]',)) in query.where.parts  # pyright: ignore[reportAttributeAccessIssue]
    dense, asked, sparse, _ = three.engine.queries
    assert isinstance(sparse.vector, SparseVector)
    assert sparse.corpus == within(NS)
    assert dense.corpus is None
    assert asked.questions


def test_the_filter_holds_for_the_signals_and_for_the_links(three: Canned) -> None:
    find(three, filter={"tags": {"$contains": "db"}})
    assert len(three.engine.queries) == 4
    for query in three.engine.queries:
        assert Match("tags", ("db",)) in query.where.parts  # pyright: ignore[reportAttributeAccessIssue]


def test_a_million_k_asks_for_no_more_than_there_is(three: Canned) -> None:
    assert len(find(three, k=1_000_000, hops=0)) == 3
    assert {query.limit for query in three.engine.queries} == {3}
    assert three.engine.calls == ["facet", "count", "query", "get"]


def test_a_million_k_in_an_empty_namespace_finds_nothing(canned: Canned) -> None:
    assert find(canned, k=1_000_000) == []


@pytest.mark.parametrize("wrong", [{"k": -1}, {"hops": -1}, {"k": 2.5}])
def test_counts_that_mean_nothing_are_refused(canned: Canned, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=r"0 or more; got"):
        find(canned, **wrong)


@pytest.mark.parametrize("query", ["", "  \n\t", None])
def test_a_blank_query_is_refused(canned: Canned, query: str) -> None:
    with pytest.raises(InvalidInputError, match="empty or blank"):
        find(canned, query)
    assert canned.engine.calls == []


def test_a_lone_surrogate_in_a_query_does_not_stop_the_search(three: Canned) -> None:
    assert len(find(three, "caf\ud800 cache")) == 3
    assert three.embedder.texts == ["caf? cache"]


def test_a_filter_that_means_nothing_is_refused_before_anything_is_asked(canned: Canned) -> None:
    with pytest.raises(InvalidFilterError):
        find(canned, filter={"tags": {"$near": 1}})
    assert canned.embedder.texts == []


def test_a_long_query_is_bounded_for_the_embedder_and_whole_for_its_words(canned: Canned) -> None:
    canned.answer({}, {})
    words = " ".join(f"word{i}" for i in range(10_000))
    find(canned, words)
    assert canned.embedder.texts == [words[:MAX_EMBEDDED_CHARS]]
    sparse = canned.engine.queries[2].vector
    assert isinstance(sparse, SparseVector)
    assert len(sparse.indices) == 10_000


def test_a_signal_of_weight_zero_is_not_asked(three: Canned) -> None:
    three.engine.answers.pop(0)
    hits = find(three, options=RecallOptions(meaning=0.0, reply=0.0, statement=0.0))
    assert texts(hits) == ["cache", "holiday"]
    assert all(hit.why.keys() == {"words"} for hit in hits)


@pytest.mark.parametrize(
    "weights",
    [
        {"meaning": 0.0, "words": 0.0},
        {"meaning": -1.0},
        {"damping": 1.5},
        {"fan_out": 0},
        {"follow_best": 0},
    ],
)
def test_options_that_mean_nothing_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        RecallOptions(**weights)  # pyright: ignore[reportArgumentType]


def test_of_equal_hits_the_newest_stands_first(canned: Canned) -> None:
    for name in ("first", "second", "third"):
        canned.add(name)
    canned.answer({"second": 0.5, "first": 0.5, "third": 0.5}, {})
    assert texts(find(canned, hops=0)) == ["third", "second", "first"]


def test_a_note_that_vanished_between_query_and_reading_is_made_up_for(canned: Canned) -> None:
    canned.add("here")
    canned.answer({"gone": 0.9, "here": 0.3}, {})
    assert texts(find(canned, k=1, hops=0)) == ["here"]


def test_an_id_of_another_namespace_is_not_returned_whatever_the_engine_says(
    canned: Canned,
) -> None:
    canned.add("mine")
    stranger = canned.add("theirs", namespace="susie")
    canned.engine.answers.extend([{stranger: 0.9, canned.id("mine"): 0.1}, {}])
    assert texts(find(canned, hops=0)) == ["mine"]


def test_notes_that_only_seem_to_meet_a_filter_are_made_up_for_from_further_down(
    canned: Canned,
) -> None:
    """An engine cannot compare this filter exactly, so its answers are checked and refilled."""
    size = 600
    for i in range(size):
        canned.add(f"n{i}", metadata={"deep": {"list": [i]}})
    nearness = {f"n{i}": 1 - i / size for i in range(size)}
    canned.answer(*[nearness, {}] * 3)
    wanted = {"metadata.deep": {"list": [500]}}
    assert texts(find(canned, k=2, hops=0, filter=wanted)) == ["n500"]
    assert [query.limit for query in canned.engine.queries[::3]] == [96, 384, 600]


def cosines(canned: Canned, depth: int) -> set[str]:
    """The ids in the list of `depth` notes by meaning."""
    question, options = read_question("the", (), NOW), RecallOptions(words=0.0, expand_best=0)
    nothing = SparseVector((), ())
    scope = scope_of(NS, None, None)
    io = canned.io
    lists = run(list_notes(io, scope, question, [1.0, 0.0], nothing, depth, options))
    return set(lists.evidence.meanings)


@pytest.mark.parametrize(("depth", "held"), [(3, "ab"), (5, "abcd")])
def test_a_list_that_is_cut_among_equals_holds_none_of_them(
    canned: Canned, depth: int, held: str
) -> None:
    """Which of them got in is chance, and differs from one store to the next."""
    ids = {name: canned.add(name) for name in "abcd"}
    canned.answer({"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.5})
    assert cosines(canned, depth) == {ids[name] for name in held}


@pytest.mark.parametrize("best", [0.5, 0.9])
def test_of_a_list_of_hardly_anything_but_equals_the_first_by_id_are_taken(
    canned: Canned, best: float
) -> None:
    ids = {canned.add(name): name for name in "abcd"}
    scores = {"d": 0.5, "c": 0.5, "a": best, "b": 0.5}
    canned.answer(scores, {**scores, "e": 0.4})
    first = [id for id in sorted(ids) if best == 0.5 or ids[id] != "a"]
    wanted = first[:3] if best == 0.5 else [canned.id("a"), *first[:2]]
    assert cosines(canned, 3) == set(wanted)
