"""Numbers, codes and emoji find the note that has them, however they are written."""

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.core.engine import Vector
from amem_integrations.embedders.dense import NamedEmbedder, resolve_embedder
from amem_integrations.embedders.embedder import embedder_of
from amem_integrations.embedders.fastembed import OFFLINE_MODULE
from tests.recall.identifiers import KINDS, NOTES

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(OFFLINE_MODULE) is None, reason="extra [offline] is not installed"
)

MODEL = resolve_embedder()
_vectors: dict[str, Vector] = {}


def embedded(texts: list[str]) -> list[Vector]:
    """The default embedder's vectors, made once for all engines."""
    missing = [text for text in dict.fromkeys(texts) if text not in _vectors]
    if missing:
        _vectors.update(zip(missing, MODEL.embed_documents(missing), strict=True))
    return [_vectors[text] for text in texts]


class Memories:
    """The notes of each kind, stored when they are first asked for.

    together: in one memory, in namespaces. The client's local mode reads all notes at each search.
    """

    def __init__(self, *, together: bool) -> None:
        self._together = together
        self._opened: dict[str, AgenticMemory] = {}
        self._filled: set[str] = set()

    def search(
        self, kind: str, question: str, *, texts: Sequence[str] = (), **options: Any
    ) -> list[str]:
        memory = self._of("all" if self._together else kind)
        if kind not in self._filled:
            self._filled.add(kind)
            texts = texts or [KINDS[kind].note(n) for n in range(NOTES)]
            memory.add_many(texts, namespace=kind)
        return [hit.note.content for hit in memory.search(question, namespace=kind, **options)]

    def _of(self, name: str) -> AgenticMemory:
        if name not in self._opened:
            embedder = NamedEmbedder(
                embedder_of(embedded, lambda text: embedded([text])[0]),
                name=MODEL.name,
                dimension=MODEL.dimension,
            )
            self._opened[name] = AgenticMemory(embedder=embedder, formation="off")
        return self._opened[name]

    def close(self) -> None:
        for memory in self._opened.values():
            memory.close()


@pytest.fixture(name="memories", scope="module", params=["edge", "local"])
def filled_memories(request: pytest.FixtureRequest) -> Iterator[Memories]:
    """On the embedded engine; and as on a platform without it, with the other encoder."""
    find = importlib.util.find_spec
    if request.param == "edge" and find("qdrant_edge") is None:
        pytest.skip("no Qdrant Edge wheel for this platform")
    memories = Memories(together=request.param == "edge")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "local":
            for module in ("importlib.util", "amem_integrations.embedders.model_files"):
                patch.setattr(
                    f"{module}.find_spec",
                    lambda name, *rest: None if name == "qdrant_edge" else find(name, *rest),
                )
        yield memories
    memories.close()


# The other encoder takes the same words for numbers (embedders/test_sparse.py).
LOCAL = ("invoice", "phone", "ticket", "error", "chinese")
ASKED = [("edge", kind) for kind in KINDS] + [("local", kind) for kind in LOCAL]


@pytest.mark.parametrize(("memories", "kind"), ASKED, indirect=["memories"], scope="module")
def test_the_note_with_the_identifier_asked_for_comes_first(memories: Memories, kind: str) -> None:
    table, missed = KINDS[kind], list[str]()
    asked = [(n, table.questions[i % len(table.questions)](n)) for i, n in enumerate(table.asked)]
    assert len(asked) >= 10
    for n, question in asked:
        [best, *_] = memories.search(kind, question)
        if best != table.note(n):
            missed.append(f"{question} -> {best}, not {table.note(n)}")
    assert len(missed) <= len(asked) // 10, "\n".join(missed)


@pytest.mark.parametrize(
    ("kind", "known", "unknown"),
    [
        ("invoice", "Who paid invoice 10777?", "Who paid invoice 99999?"),
        ("invoice", "Who paid invoice 2024/10777?", "Who paid invoice 2024/10778?"),
        ("phone", "Whose number is +49 171 4513462?", "Whose number is +49 171 9999999?"),
        ("ticket", "Who works on PROJ-151?", "Who works on PROJ-999?"),
        ("error", "Who got the error 0x80070000?", "Who got the error 0x8007FFFF?"),
        (
            "account",
            "Whose rent comes from DE2037040044053201300000?",
            "Whose rent comes from DE99999999?",
        ),
    ],
)
def test_a_question_with_an_identifier_that_no_note_has_finds_nothing(
    memories: Memories, kind: str, known: str, unknown: str
) -> None:
    assert memories.search(kind, known, min_relevance=0.1)
    assert memories.search(kind, unknown, min_relevance=0.1) == []


def test_a_year_or_a_small_number_that_no_note_has_is_no_reason_to_find_nothing(
    memories: Memories,
) -> None:
    for question in ("Who of the 3 has the key of a locker?", "the key of the locker in 2031"):
        assert memories.search("number", question, min_relevance=0.1), question


def test_emoji_find_the_notes_that_have_them(memories: Memories) -> None:
    texts = [
        "Pizza 🍕 is off the list",
        "Done 👍🏽 with the tax",
        "Off to Spain 🇪🇸",
        "I ❤️ this",
        *(f"Lunch number {n} was fine 🍔" for n in range(20)),
    ]
    for text, question in zip(texts, ("🍕", "👍", "🇪🇸", "❤"), strict=False):
        [best, *_] = memories.search("emoji", question, texts=texts)
        assert best == text
