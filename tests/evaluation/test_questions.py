"""Questions are embedded once, and the time that takes is known."""

import pytest

from amem_integrations.core.io import Vector
from amem_integrations.evaluation.questions import timed
from amem_integrations.testing import HashEmbedder


class Counting(HashEmbedder):
    asked = 0

    def embed_query(self, text: str) -> Vector:
        self.asked += 1
        return super().embed_query(text)


def test_a_question_is_embedded_once() -> None:
    inner = Counting()
    _, questions = timed(inner)
    before = inner.asked
    assert questions.embed_query("why?") == questions.embed_query("why?")
    assert inner.asked == before + 1
    assert len(questions.seconds) == 1


def test_a_memory_sees_the_embedder_that_was_meant() -> None:
    named, _ = timed(HashEmbedder(64))
    assert (named.name, named.dimension) == ("hash-64", 64)
    assert named.embed_documents(["a kiln"]) == [
        pytest.approx(HashEmbedder(64).embed_query("a kiln"))
    ]


async def test_async_forms_give_the_same_vectors() -> None:
    named, questions = timed(HashEmbedder(64))
    assert await named.aembed_query("a kiln") == named.embed_query("a kiln")
    assert await questions.aembed_documents(["a kiln"]) == named.embed_documents(["a kiln"])
