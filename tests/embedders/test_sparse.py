"""BM25 terms: which words of which languages count, and how much."""

import pytest

from amem_integrations.core.engine import SparseVector
from amem_integrations.core.io import SparseEncoder
from amem_integrations.embedders import sparse as module
from amem_integrations.embedders.model_files import package_dir
from amem_integrations.embedders.sparse import EdgeBm25, FastembedBm25, resolve_sparse
from amem_integrations.errors import ModelUnavailableError

needs_edge = pytest.mark.skipif(
    package_dir("qdrant_edge") is None, reason="no Qdrant Edge wheel for this platform"
)


@pytest.fixture(
    name="encoder",
    scope="module",
    params=[pytest.param(EdgeBm25, marks=needs_edge), FastembedBm25],
)
def an_encoder(request: pytest.FixtureRequest) -> SparseEncoder:
    return request.param()


def shared(encoder: SparseEncoder, document: str, query: str) -> int:
    """How many words of the query are in the document."""
    found = set(encoder.document(document).indices)
    return len(found & set(encoder.query(query).indices))


def score(encoder: SparseEncoder, document: str, query: str) -> float:
    weights = encoder.document(document)
    by_index = dict(zip(weights.indices, weights.values, strict=True))
    return sum(by_index.get(index, 0.0) for index in encoder.query(query).indices)


def test_english_words_meet_by_their_stems(encoder: SparseEncoder) -> None:
    assert shared(encoder, "She was running to the caches", "run cache") == 2


def test_english_stop_words_do_not_count(encoder: SparseEncoder) -> None:
    assert encoder.query("where was the") == SparseVector((), ())
    assert len(encoder.document("the cat is on the mat").indices) == 2


def test_chinese_words_meet_without_spaces(encoder: SparseEncoder) -> None:
    document = "用户希望为缓存系统添加LRU淘汰策略"
    assert shared(encoder, document, "缓存淘汰策略") == 3
    assert shared(encoder, document, "lru") == 1
    assert shared(encoder, document, "花生过敏") == 0


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("Les chevaux mangent des pommes", "chevaux"),
        ("Программисты писали программы", "программы"),
        ("أحب القهوة في الصباح", "القهوة"),
        ("서울에서 커피를 마셨어요", "커피를"),
    ],
)
def test_words_of_other_languages_meet_as_they_are_written(
    encoder: SparseEncoder, document: str, query: str
) -> None:
    # An encoder may take a word apart, such as an article and its noun.
    assert shared(encoder, document, query) == len(encoder.query(query).indices) > 0


@needs_edge
@pytest.mark.parametrize(
    ("document", "query"),
    [("José lives in Łódź", "jose lodz"), ("a naïve résumé", "naive resume")],
)
def test_accents_do_not_part_words(document: str, query: str) -> None:
    assert shared(EdgeBm25(), document, query) == 2


def test_a_word_weighs_by_its_frequency_and_the_length_of_the_text(encoder: SparseEncoder) -> None:
    once = score(encoder, "tea milk sugar water", "tea")
    twice = score(encoder, "tea tea sugar water", "tea")
    long = score(encoder, "tea milk sugar " + " ".join(f"word{n}" for n in range(30)), "tea")
    assert once < twice < 2 * once
    assert long < 0.75 * once


def test_each_word_of_a_query_weighs_the_same_once(encoder: SparseEncoder) -> None:
    assert set(encoder.query("tea tea milk").values) == {1.0}
    assert len(encoder.query("tea tea milk").indices) == 2


def test_a_text_without_words_has_no_terms(encoder: SparseEncoder) -> None:
    for text in ("", "  ", "\x00", "🎉", "?!…", "\ud800"):
        assert encoder.document(text) == encoder.query(text) == SparseVector((), ())
    assert shared(encoder, "Peanuts! (again \ud800)", "\udfff PEANUTS?") == 1


def test_terms_are_plain_numbers_with_unique_indices(encoder: SparseEncoder) -> None:
    found = encoder.document("the quick brown fox 跳过了 the lazy dog and the dog")
    assert all(type(index) is int for index in found.indices)
    assert all(type(value) is float for value in found.values)
    assert len(set(found.indices)) == len(found.indices) == len(found.values)


def test_two_megabytes_are_read_whole(encoder: SparseEncoder) -> None:
    for text in ("many different words here and there running " * 46_000, "x" * 2_000_000):
        found = encoder.document(text + " peanuts")
        assert set(encoder.query("peanuts").indices) <= set(found.indices)


@needs_edge
def test_a_platform_without_edge_gets_the_other_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_sparse().name == EdgeBm25.name
    monkeypatch.setattr(
        module, "package_dir", lambda name: None if name == "qdrant_edge" else package_dir(name)
    )
    assert resolve_sparse().name == FastembedBm25.name
    with pytest.raises(ModelUnavailableError, match="qdrant-edge-py"):
        resolve_sparse(EdgeBm25.name)


def test_an_unknown_encoder_is_refused_with_those_known() -> None:
    with pytest.raises(ModelUnavailableError, match=EdgeBm25.name):
        resolve_sparse("splade-9")
    assert type(resolve_sparse(FastembedBm25.name)) is FastembedBm25
