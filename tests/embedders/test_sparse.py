"""BM25 terms: which words of which languages count, and how much."""

import base64
import random

import pytest

from amem_integrations.core.engine import SparseVector
from amem_integrations.core.io import SparseEncoder
from amem_integrations.embedders import sparse as module
from amem_integrations.embedders.model_files import package_dir
from amem_integrations.embedders.sparse import (
    EdgeBm25,
    FastembedBm25,
    WithIdentifiers,
    identifier_index,
    is_identifier,
    resolve_sparse,
)
from amem_integrations.errors import ModelUnavailableError
from tests.support import check_linear

needs_edge = pytest.mark.skipif(
    package_dir("qdrant_edge") is None, reason="no Qdrant Edge wheel for this platform"
)


@pytest.fixture(
    name="encoder",
    scope="module",
    params=[
        pytest.param(lambda: WithIdentifiers(EdgeBm25()), marks=needs_edge, id="edge"),
        pytest.param(lambda: WithIdentifiers(FastembedBm25(digits=False)), id="fastembed"),
        pytest.param(EdgeBm25, marks=needs_edge, id="older edge"),
        pytest.param(FastembedBm25, id="older fastembed"),
    ],
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
    asked = encoder.query(query)
    terms = zip(asked.indices, asked.values, strict=True)
    return sum(weight * by_index.get(index, 0.0) for index, weight in terms)


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
    for text in ("", "  ", "\x00", "?!…", "\ud800"):
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
    assert resolve_sparse().name == WithIdentifiers(EdgeBm25()).name
    monkeypatch.setattr(
        module, "package_dir", lambda name: None if name == "qdrant_edge" else package_dir(name)
    )
    assert resolve_sparse().name == WithIdentifiers(FastembedBm25()).name
    with pytest.raises(ModelUnavailableError, match="qdrant-edge-py"):
        resolve_sparse(EdgeBm25.name)


def test_an_unknown_encoder_is_refused_with_those_known() -> None:
    with pytest.raises(ModelUnavailableError, match=EdgeBm25.name):
        resolve_sparse("splade-9")
    assert type(resolve_sparse(FastembedBm25.name)) is FastembedBm25


# -- numbers, codes and emoji --------------------------------------------------------------------

TEXTS = (
    "Invoice 2024-10777 of $1,234.50 is due on 3 May",
    "PROJ-181 broke in v2.1.10 at 15:49, error 0x80070005, see 10.0.4.71",
    "电话是+86 138 0013 8000，发票１０７７７ 🍕",
)


def identifiers(vector: SparseVector) -> dict[int, float]:
    terms = zip(vector.indices, vector.values, strict=True)
    return {index: weight for index, weight in terms if is_identifier(index)}


@needs_edge
@pytest.mark.parametrize("text", TEXTS)
def test_both_libraries_have_the_same_terms_for_numbers(text: str) -> None:
    edge, other = WithIdentifiers(EdgeBm25()), WithIdentifiers(FastembedBm25(digits=False))
    assert identifiers(edge.query(text)) == identifiers(other.query(text)) != {}
    mine, theirs = identifiers(edge.document(text)), identifiers(other.document(text))
    assert mine == pytest.approx(theirs, rel=0.1)
    words = set(FastembedBm25(digits=False).query("2024 10777 15:49 $45").indices)
    assert words == set(EdgeBm25().query("2024 10777 15:49 $45").indices) == set()


def test_terms_of_identifiers_never_meet_those_of_words(encoder: SparseEncoder) -> None:
    assert all(is_identifier(identifier_index(str(n))) for n in range(10_000))
    assert not any(map(is_identifier, encoder.document("tea milk sugar 中文 Привет").indices))
    assert max(identifier_index(str(n)) for n in range(10_000)) < 2**32


def test_a_number_weighs_by_its_frequency_and_the_length_of_the_text() -> None:
    encoder = resolve_sparse()
    once = score(encoder, "locker 4711 in the hall", "4711")
    twice = score(encoder, "locker 4711, yes, 4711", "4711")
    long = score(encoder, "locker 4711 " + " ".join(f"wo{'r' * n}d" for n in range(40)), "4711")
    assert once < twice < 2 * once
    assert long < 0.75 * once


def test_years_days_and_small_numbers_weigh_less_than_identifiers() -> None:
    encoder = resolve_sparse()
    whole = score(encoder, "of 47110815", "47110815")
    for light in ("7", "2024", "2026-11-20", "15:49"):
        assert 0 < score(encoder, f"of {light}", light) < whole
    assert 0 < score(encoder, "of 2024-47110", "47110") < whole


def test_encoded_data_has_no_terms() -> None:
    data = base64.b64encode(random.Random(1).randbytes(20_000)).decode()
    text = f"Our boat ![](data:image/png;base64,{data}) is called Susie"
    plain = resolve_sparse().document("Our boat ![]() is called Susie")
    assert resolve_sparse().document(text) == plain


@pytest.mark.parametrize("unit", ["x", "é", "Ab1", "12 ", "1.", "A ", "🍕", "ab-1/", "中"])
def test_the_time_it_takes_grows_with_the_text_and_not_faster(unit: str) -> None:
    encoder = resolve_sparse()
    check_linear(lambda size: encoder.document(unit * (size // len(unit))), 80_000)
