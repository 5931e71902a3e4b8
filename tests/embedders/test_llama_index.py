"""A LlamaIndex embedding model as the embedder of a memory."""

import asyncio
import threading
from typing import Any

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding

from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.testing import HashEmbedder
from tests.support import open_memory

HASH = HashEmbedder(32)


class Plain(BaseEmbedding):
    """As most are: sync work, and an async query form that only wraps it."""

    asked: list[tuple[str, str]] = []  # noqa: RUF012 - a pydantic field
    threads: list[int] = []  # noqa: RUF012 - a pydantic field

    def _get_query_embedding(self, query: str) -> list[float]:
        self.asked.append(("query", query))
        self.threads.append(threading.get_ident())
        return HASH.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        self.asked.append(("text", text))
        self.threads.append(threading.get_ident())
        return HASH.embed_query(text)


class Hosted(Plain):
    """One with an async form of its own."""

    async def _aget_text_embedding(self, text: str) -> list[float]:
        await asyncio.sleep(0)
        return self._get_text_embedding(text)


def plain(**settings: Any) -> Plain:
    return Plain(asked=[], threads=[], **settings)


def test_it_is_remembered_by_its_class_and_its_model_where_that_is_known() -> None:
    assert resolve_embedder(plain(model_name="small")).name == "Plain/small"
    assert resolve_embedder(MockEmbedding(embed_dim=8)).name == "MockEmbedding"


def test_it_is_not_mistaken_for_a_function_although_it_can_be_called() -> None:
    assert callable(MockEmbedding(embed_dim=8))
    assert resolve_embedder(MockEmbedding(embed_dim=8)).embed_documents(["a", "b"]) == [
        [0.5] * 8,
        [0.5] * 8,
    ]


def test_notes_get_text_embeddings_and_searches_query_embeddings() -> None:
    model = plain()
    with open_memory(embedder=model, formation="off") as memory:
        memory.add("The redis cache")
        model.asked.clear()
        memory.add("The harbour at night")
        memory.search("redis")
    assert [kind for kind, _ in model.asked] == ["text", "query"]
    assert model.asked[-1] == ("query", "redis")


@pytest.mark.parametrize(("kind", "in_thread"), [(Plain, True), (Hosted, False)])
async def test_it_is_awaited_on_the_loop_if_it_has_an_async_form_of_its_own(
    kind: type[Plain], in_thread: bool
) -> None:
    model = kind(asked=[], threads=[])
    embedder = resolve_embedder(model)
    assert await embedder.aembed_documents(["a"]) == HASH.embed_documents(["a"])
    assert await embedder.aembed_query("a") == HASH.embed_query("a")
    assert (threading.get_ident() not in model.threads) is in_thread
