"""What a user may give as `embedder=`, and how its results are checked."""

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.errors import EmbeddingError, InvalidInputError, ModelUnavailableError
from amem_integrations.testing import HashEmbedder


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


async def lengths_async(texts: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return lengths(texts)


class Hosted(Embeddings):
    """As an integration for a provider looks: a model's name, sync and async forms."""

    def __init__(self, model: str = "small-3") -> None:
        self.model = model
        self.called: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.called.append("sync")
        return lengths(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.called.append("async")
        return lengths(texts)


class SyncOnly:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.thread = threading.get_ident()
        return lengths(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


# -- what may be given -------------------------------------------------------------------------


class Cached(SyncOnly):
    underlying_embeddings = Hosted("large-3")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (Hosted("large-3"), "Hosted/large-3"),
        (Cached(), "Hosted/large-3"),
        (SyncOnly(), "SyncOnly"),
        (HashEmbedder(dimension=64), "hash-64"),
        (lengths, f"{__name__}.lengths"),
        (partial(lengths), f"{__name__}.lengths"),
    ],
)
def test_an_embedder_is_remembered_by_its_name_model_or_place(spec: Any, name: str) -> None:
    assert resolve_embedder(spec).name == name
    embedder = resolve_embedder(spec)
    assert resolve_embedder(embedder) is embedder
    assert resolve_embedder(spec, name="mine-v1").name == "mine-v1"


def test_langchains_own_async_form_is_used() -> None:
    hosted = Hosted()
    vectors = asyncio.run(resolve_embedder(hosted).aembed_documents(["abc"]))
    assert vectors == [[3.0, 1.0]]
    assert hosted.called == ["async"]
    embedder = resolve_embedder(DeterministicFakeEmbedding(size=8))
    assert asyncio.run(embedder.aembed_query("a")) == embedder.embed_query("a")


async def test_an_object_without_async_methods_is_awaited_in_a_thread() -> None:
    spec: Any = SyncOnly()
    assert await resolve_embedder(spec).aembed_query("abc") == [3.0, 1.0]
    assert spec.thread != threading.get_ident()
    function: Any = SyncOnly()
    assert await resolve_embedder(function.embed_documents).aembed_query("abc") == [3.0, 1.0]
    assert function.thread != threading.get_ident()


@pytest.mark.parametrize("spec", [5, ["a"], object(), Hosted])
def test_what_cannot_embed_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInputError, match="embedder="):
        resolve_embedder(spec)
    with pytest.raises(ModelUnavailableError, match="empty"):
        resolve_embedder("  ")


# -- functions: sync, async, threads, loops ----------------------------------------------------


async def test_an_async_function_is_awaited_on_the_running_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def embed(texts: list[str]) -> list[list[float]]:
        loops.append(asyncio.get_running_loop())
        return lengths(texts)

    assert await resolve_embedder(embed).aembed_query("ab") == [2.0, 1.0]
    assert loops == [asyncio.get_running_loop()]


def awaited_later(texts: list[str]) -> Any:
    return lengths_async(texts)


@pytest.mark.parametrize("function", [lengths_async, awaited_later])
def test_an_async_function_works_everywhere_but_called_sync_inside_a_loop(
    function: Callable[[list[str]], Any],
) -> None:
    embedder = resolve_embedder(function)
    assert embedder.embed_query("abc") == [3.0, 1.0]
    assert asyncio.run(embedder.aembed_query("abc")) == [3.0, 1.0]

    async def call_sync() -> None:
        embedder.embed_query("abc")

    with pytest.raises(InvalidInputError, match="async methods"):
        asyncio.run(call_sync())


# -- what comes back ---------------------------------------------------------------------------


def test_numpy_results_become_lists_of_floats() -> None:
    def embed(texts: list[str]) -> Any:
        return np.ones((len(texts), 3), dtype=np.float32)

    (vector,) = resolve_embedder(embed).embed_documents(["a"])
    assert vector == [1.0, 1.0, 1.0]
    assert all(type(number) is float for number in vector)


NOT_VECTORS: list[tuple[Any, str]] = [
    ([[1.0, 2.0]], "1 vectors for 2 texts"),
    ([[1.0], [1.0], [1.0]], "3 vectors for 2 texts"),
    ([[1.0, 2.0], [1.0]], "1 numbers where 2"),
    ([[], []], "empty vector"),
    ([[1.0], [float("nan")]], "NaN"),
    ([[1.0], [float("inf")]], "infinity"),
    ([[1.0], [1e300]], "infinity"),
    ([["x"], ["y"]], "not a list of numbers"),
    ([1.0, 2.0], "not a list of numbers"),
    ([None, None], "not a list of numbers"),
    (None, "NoneType instead of a list"),
]


@pytest.mark.parametrize(("result", "complaint"), NOT_VECTORS)
def test_a_result_that_is_not_vectors_is_refused_with_the_embedders_name(
    result: Any, complaint: str
) -> None:
    def broken(texts: list[str]) -> Any:
        return result

    with pytest.raises(EmbeddingError, match=complaint) as refused:
        resolve_embedder(broken, name="broken-model").embed_documents(["a", "b"])
    assert "broken-model" in str(refused.value)


async def test_a_query_that_gets_no_single_vector_is_refused() -> None:
    for result in (None, 7, [], [[1.0], [2.0]], [[float("nan")]]):
        embedder = resolve_embedder(lambda texts, result=result: result)
        with pytest.raises(EmbeddingError):
            embedder.embed_query("a")
        with pytest.raises(EmbeddingError):
            await embedder.aembed_query("a")


def test_a_vector_of_another_size_than_announced_is_refused() -> None:
    embedder = NamedEmbedder(HashEmbedder(dimension=8), name="eight", dimension=16)
    with pytest.raises(EmbeddingError, match="8 numbers where 16"):
        embedder.embed_query("a")


def test_an_unknown_dimension_is_measured_once_when_asked_for() -> None:
    calls: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        calls.append(texts)
        return lengths(texts)

    embedder = resolve_embedder(embed)
    assert calls == []
    assert embedder.embed_documents([]) == []
    assert calls == []
    assert (embedder.dimension, embedder.dimension) == (2, 2)
    assert len(calls) == 1


# -- scripts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("Plain English.", True),
        ("Un café naïve à Łódź", True),
        ("12:30, 100% 🎉", True),
        ("", True),
        ("我对花生过敏", False),
        ("缓存用 LRU 策略，Calvin 同意了", False),
        ("The word 缓存 means cache in Chinese.", True),
        ("Привет, мир", False),
        ("مرحبا بالعالم", False),
    ],
)
def test_an_english_embedder_covers_latin_script(text: str, covered: bool) -> None:
    assert resolve_embedder().covers(text) is covered
    # One of unknown languages is taken to cover everything.
    assert resolve_embedder(lengths).covers(text)


async def test_foreign_text_is_counted_and_warned_of_once_without_its_content(
    caplog: pytest.LogCaptureFixture,
) -> None:
    embedder = NamedEmbedder(HashEmbedder(), name="english-only-1", languages=("en",))
    with caplog.at_level(logging.WARNING, logger="amem_integrations"):
        embedder.embed_documents(["hello", "bonjour à tous"])
        assert embedder.uncovered == 0
        assert not caplog.records
        embedder.embed_documents(["我对花生过敏", "hello", "Привет"])
        await embedder.aembed_documents(["明天开会"])
    assert embedder.uncovered == 3
    (record,) = caplog.records
    assert 'embedder="multilingual"' in record.getMessage()
    assert "english-only-1" in record.getMessage()
    assert "花生" not in record.getMessage()
