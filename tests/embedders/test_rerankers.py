"""What can be given as a reranker, and how it is understood."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document

from amem_integrations.embedders import fastembed
from amem_integrations.embedders.fastembed import FastembedCrossEncoder
from amem_integrations.embedders.rerankers import resolve_reranker
from amem_integrations.errors import InvalidInputError, ModelUnavailableError

ASKED = "tea?", ["coffee", "green tea", "tea"]


class Kept(BaseDocumentCompressor):
    """Keeps what has "tea" in it, the last first."""

    scored: bool = False
    split: bool = False

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        kept = [each for each in reversed(documents) if "tea" in each.page_content]
        if self.split:
            return [
                Document(page_content=part, metadata=each.metadata)
                for each in kept
                for part in each.page_content.split()
            ]
        if self.scored:
            for each in kept:
                each.metadata["relevance_score"] = len(each.page_content) / 10
        return kept


def test_a_function_gives_a_score_a_text() -> None:
    def lengths(query: str, texts: list[str]) -> list[int]:
        return [len(text) for text in texts]

    assert resolve_reranker(None) is resolve_reranker(False) is None
    reranker = resolve_reranker(lengths)
    assert reranker is not None
    assert reranker.invoke(ASKED) == [6.0, 9.0, 3.0]
    assert "lengths" in reranker.name


@pytest.mark.parametrize(
    ("compressor", "scores"),
    [
        # By its order; a text that it drops is left out.
        (Kept(), [None, 0.5, 1.0]),
        # By its scores, where it gives them.
        (Kept(scored=True), [None, 0.9, 0.3]),
        # Of a text that it splits, the first part counts.
        (Kept(split=True), [None, 0.5, 1.0]),
    ],
)
async def test_a_compressor_scores_by_its_scores_or_its_order(
    compressor: Kept, scores: list[float | None]
) -> None:
    reranker = resolve_reranker(compressor)
    assert reranker is not None
    assert reranker.invoke(ASKED) == await reranker.ainvoke(ASKED) == scores
    assert reranker.name == "Kept"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (object(), "cannot rerank"),
        (Kept, r"not the class: Kept\(\.\.\.\)"),
    ],
)
def test_what_cannot_rerank_is_refused(spec: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        resolve_reranker(spec)


def test_an_unknown_name_says_what_may_have_been_meant() -> None:
    with pytest.raises(ModelUnavailableError, match="Did you mean 'Xenova/ms-marco-MiniLM-L-6-v2'"):
        resolve_reranker("cross-encoder/ms-marco-MiniLM-L6-v2")


def test_a_model_that_cannot_be_had_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(fastembed, "_loaded_cross_encoders", {})
    reranker = FastembedCrossEncoder("BAAI/bge-reranker-base")
    with pytest.raises(ModelUnavailableError, match="FASTEMBED_CACHE_PATH"):
        reranker.invoke(ASKED)


class Lengths:
    """In the place of a loaded cross-encoder."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, documents: list[str], batch_size: int) -> Iterator[float]:
        self.asked.append((query, documents))
        yield from (float(len(document)) for document in documents)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Lengths]:
    """Every model that is loaded."""
    made: list[Lengths] = []

    def load(name: str) -> Lengths:
        made.append(Lengths(name))
        return made[-1]

    monkeypatch.setattr(fastembed, "_loaded_cross_encoders", {})
    monkeypatch.setattr(fastembed, "_load_cross_encoder", load)
    return made


async def test_a_cross_encoder_is_loaded_once_for_the_process_when_it_is_first_asked(
    loaded: list[Lengths],
) -> None:
    one = resolve_reranker("baai/BGE-reranker-base")
    other = FastembedCrossEncoder("BAAI/bge-reranker-base")
    assert isinstance(one, FastembedCrossEncoder)
    assert loaded == []
    assert one.invoke(ASKED) == [6.0, 9.0, 3.0]
    assert await other.ainvoke(ASKED) == [6.0, 9.0, 3.0]
    assert [each.name for each in loaded] == ["BAAI/bge-reranker-base"]


def test_a_cross_encoder_is_spared_what_it_cannot_read(loaded: list[Lengths]) -> None:
    FastembedCrossEncoder("BAAI/bge-reranker-base").invoke(("tea \ud800?", ["tea " * 100_000]))
    [(query, [text])] = loaded[0].asked
    assert query == "tea ??"
    assert len(text) == 20_000
