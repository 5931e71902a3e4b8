"""What callers may give a memory, and what happens when it is something it cannot take."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Status
from amem_integrations.core.note import make_note
from amem_integrations.embedders import fastembed
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.errors import (
    EmbeddingError,
    InvalidInputError,
    ModelUnavailableError,
)
from amem_integrations.memory.options import NoteFields
from amem_integrations.testing import HashEmbedder
from tests.support import again, open_memory


@pytest.fixture
def memory() -> Any:
    with open_memory() as memory:
        yield memory


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("metadata", [nested(200), {"n": float("nan")}], ids=["deep", "nan"])
def test_metadata_that_json_cannot_hold_is_refused_and_nothing_is_lost(
    memory: AgenticMemory, metadata: Any
) -> None:
    kept = memory.add("The redis cache")
    with pytest.raises(InvalidInputError, match="metadata"):
        memory.add("Memcached", metadata=metadata)
    assert [hit.note.id for hit in memory.search("redis")] == [kept.id]
    assert memory.count() == 1


@pytest.mark.parametrize(
    "metadata",
    [
        {"n": 2**70, "m": -(2**63), "f": 1.0, "i": 1, "t": True, "z": None},
        {"z": 1, "a": {"y": [1, [2, {}]]}, "": "empty", "a.b": 1, 'q"q': 2, "ключ": "值"},
        {"nul": "a\x00b", "lone": "\ud800", "emoji": "👩‍👩‍👧"},
        nested(90),
    ],
)
def test_metadata_comes_back_exactly(memory: AgenticMemory, metadata: Any) -> None:
    note = memory.add("The redis cache", metadata=metadata)
    found = again(memory, note).metadata
    assert found == metadata
    assert list(found) == list(metadata)


TEXTS = [
    "nul \x00 inside",
    "\u202eright to left\u202c שלום עולם",
    "👩‍👩‍👧‍👦 🏳️‍🌈 emoji only 🙂",
    "用户希望为缓存系统添加LRU淘汰策略",
    "ქართული Ελληνικά русский עברית العربية हिन्दी বাংলা ਪੰਜਾਬੀ ગુજરાતી தமிழ் తెలుగు ಕನ್ನಡ "
    "മലയാളം සිංහල ไทย ລາວ བོད་ မြန်မာ ᏣᎳᎩ ភាសាខ្មែរ 한국어 日本語 中文 አማርኛ հայերեն ⵜⴰⵎⴰⵣⵉⵖⵜ ߒߞߏ "
    "ᠮᠣᠩᠭᠣᠯ ᐃᓄᒃᑎᑐᑦ ꦗꦮ ᮞᮥᮔ᮪ᮓ ᬩᬮᬶ ދިވެހި ܣܘܪܝܝܐ ⲕⲏⲙⲉ 𐌲𐌿𐍄𐌹𐍃𐌺 𐎠𐎼𐎹 ᚱᚢᚾ ᜊᜌ᜔ᜊᜌᜒᜈ᜔ ꧁꧂",
    "a",
    "x" * 5000,
    "e\u0301 versus \u00e9",
    '{"json": "like"} <notes> </notes> ```',
    "line\r\nbreaks\u2028and\u2029more",
]


@pytest.mark.parametrize("content", TEXTS, ids=range(len(TEXTS)))
def test_any_text_is_kept_as_given_and_formed(memory: AgenticMemory, content: str) -> None:
    memory.add("The redis cache")
    note = memory.add(content)
    assert again(memory, note).content == content
    assert note.status is Status.FORMED
    assert note.id in [hit.note.id for hit in memory.search(content)]


def test_a_very_long_text_is_stored_whole_and_found_by_its_end(memory: AgenticMemory) -> None:
    filler = "The committee discussed the budget of the harbour in some detail. " * 6_000
    content = filler + "The password of the lighthouse is marzipan."
    memory.add("An unrelated remark on weather")
    note = memory.add(content)
    assert again(memory, note).content == content
    assert memory.search("lighthouse password marzipan", k=1)[0].note.id == note.id


@pytest.mark.parametrize("namespace", ["", ("a", 1)])
def test_namespaces_that_cannot_be(memory: AgenticMemory, namespace: Any) -> None:
    for call in (
        lambda: memory.add("x", namespace=namespace),
        lambda: memory.search("x", namespace=namespace),
        lambda: memory.count(namespace),
    ):
        with pytest.raises(InvalidInputError, match="amespace"):
            call()


HOSTILE = [
    *(("a",), ("a", '","b'), ('["a"]',), ("a.b", "c/d", "%_*"), ("*",), ("' OR 1=1 --",)),
    *(("日本", "👩‍👩‍👧"), ("\u202etxt",), ("a\nb",)),
]


def test_hostile_namespaces_are_just_names(memory: AgenticMemory) -> None:
    notes = {namespace: memory.add("The redis cache", namespace=namespace) for namespace in HOSTILE}
    for namespace, note in notes.items():
        assert [hit.note.id for hit in memory.search("redis", namespace=namespace)] == [note.id]
    assert sorted(memory.namespaces()) == sorted(HOSTILE)


def test_a_model_that_does_not_exist() -> None:
    with pytest.raises(ModelUnavailableError, match="nonsense"):
        open_memory(model="nonsense:model-x")


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The name of a model that cannot be had."""

    def unreachable(repository: str) -> str:
        return "no way there"

    monkeypatch.setattr(fastembed, "hub_problem", unreachable)
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))
    return "BAAI/bge-small-en-v1.5"


@pytest.mark.parametrize("location", [None, "memory"])
def test_no_memory_is_made_for_an_embedder_that_cannot_be_had(
    tmp_path: Path, no_hub: str, location: str | None
) -> None:
    place = location and tmp_path / location
    with pytest.raises(ModelUnavailableError, match="no way there"):
        AgenticMemory(place, embedder=no_hub)
    with open_memory(place) as memory:
        assert memory.add("hello").content == "hello"


def test_what_was_stored_can_be_read_without_its_embedder(tmp_path: Path, no_hub: str) -> None:
    stand_in = NamedEmbedder(HashEmbedder(384), name=no_hub, dimension=384)
    with open_memory(tmp_path, embedder=stand_in) as memory:
        memory.add("hello")
    with AgenticMemory(tmp_path, embedder=no_hub) as memory:
        assert [note.content for note in memory.recent()] == ["hello"]
        with pytest.raises(ModelUnavailableError, match="no way there"):
            memory.search("hello")


def test_an_embedder_that_goes_wrong_loses_nothing() -> None:
    # Not a number, another size, another count.
    wrong: list[list[list[float]]] = [[[float("nan")] * 4], [[1.0, 0.0, 0.0]], []]
    vectors: list[list[float]] | None = None

    def embed(texts: list[str]) -> list[list[float]]:
        good = [[1.0, 0.0, 0.0, float(len(text))] for text in texts]
        return good if vectors is None else vectors

    with AgenticMemory(embedder=embed) as memory:
        kept = memory.add("The redis cache")
        for given in wrong:
            vectors = given
            with pytest.raises(EmbeddingError):
                memory.add("Memcached")
        vectors = None
        assert [hit.note.id for hit in memory.search("redis")] == [kept.id]
        assert memory.admin.check() == []


def test_add_takes_by_type_whatever_a_note_is_made_from() -> None:
    made_from = inspect.signature(make_note).parameters
    internal = {"content", "namespace", "now", "value", "repetition"}
    assert set(NoteFields.__annotations__) == made_from.keys() - internal


def test_only_what_an_item_has_too_much_or_lacks_is_named(memory: AgenticMemory) -> None:
    with pytest.raises(InvalidInputError, match=r"has no 'name_space', 3; it has content, key"):
        memory.add_many([{"content": "x", "name_space": "calvin", 3: 4}])
    with pytest.raises(InvalidInputError, match='needs "content"; got key, speaker'):
        memory.add_many([{"speaker": "Bea", "key": "k"}])
    with pytest.raises(InvalidInputError, match="got nothing"):
        memory.add_many([{}])
