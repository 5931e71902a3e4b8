"""Indexing: which texts of a value it is found by."""

from typing import Any

import pytest
from langgraph.store.base import PutOp

from tests.contracts.base import (
    ContractBase,
    Driver,
    Opener,
    RecordingEmbeddings,
)

NS = ("docs",)

VALUE: dict[str, Any] = {
    "title": "harbour lights",
    "author": {"name": "Ada Byron", "town": "Piran"},
    "notes": [{"say": "violin lesson"}, {"say": "train strike"}, {"other": "no say"}],
    "words": ["first word", "middle word", "last word"],
    "n": 42,
    "nothing": None,
}

PATHS: dict[str, tuple[list[str], list[str]]] = {
    "a field": (["title"], ["harbour lights"]),
    "a nested field": (["author.name"], ["Ada Byron"]),
    "every element": (["words[*]"], ["first word", "middle word", "last word"]),
    "a field of every element": (["notes[*].say"], ["violin lesson", "train strike"]),
    "the first element": (["words[0]"], ["first word"]),
    "the last element": (["words[-1]"], ["last word"]),
    "several fields": (["{title,author.name}"], ["harbour lights", "Ada Byron"]),
    "several paths": (["author.town", "words[1]"], ["Piran", "middle word"]),
    "a number": (["n"], ["42"]),
    "a missing field": (["title", "missing", "words[9]", "nothing"], ["harbour lights"]),
    "an object": (["author"], ['{"name": "Ada Byron", "town": "Piran"}']),
}


class IndexingContract(ContractBase):
    @pytest.mark.parametrize(("paths", "texts"), PATHS.values(), ids=PATHS.keys())
    def test_paths_of_a_store(self, opened: Opener, paths: list[str], texts: list[str]) -> None:
        store = opened(fields=paths)
        store.put(NS, "k", VALUE)
        self._check_paths(store, NS, texts)

    def test_paths_of_a_put(self, opened: Opener) -> None:
        store = opened(fields=["elsewhere"])
        for name, (paths, texts) in PATHS.items():
            store.put((*NS, name), "k", VALUE, index=paths)
            self._check_paths(store, (*NS, name), texts)

    def _check_paths(self, store: Driver, namespace: Any, texts: list[str]) -> None:
        for text in texts:
            assert store.score(namespace, text) == pytest.approx(1, abs=1e-3)
        for text in {"harbour lights", "Ada Byron", "violin lesson", "first word"} - {*texts}:
            assert store.score(namespace, text) < 0.9

    def test_the_whole_value(self, opened: Opener, embeddings: RecordingEmbeddings) -> None:
        store = opened(fields=["$"])
        store.put(NS, "store", {"text": "tea", "kind": "drink"})
        store.put(NS, "put", {"text": "tea", "kind": "drink"}, index=["$"])
        assert all(text in embeddings.embedded[-1] for text in ("tea", "drink"))
        expected = embeddings.cosine(embeddings.embedded[-1], "a drink: tea")
        for item in store.search(NS, query="a drink: tea"):
            assert item.score == pytest.approx(expected, abs=1e-3)

    def test_several_texts_score_by_their_best(self, opened: Opener) -> None:
        store = opened(fields=["a", "b", "c"])
        store.put(NS, "one", {"b": "violin lesson", "c": "train strike", "x": "harbour lights"})
        store.put(NS, "two", {"a": "blue sky", "b": "green pear", "c": "violin lesson"})
        found = store.search(NS, query="violin lesson")
        assert len(found) == 2
        assert [item.score for item in found] == [pytest.approx(1, abs=1e-3)] * 2
        for query, best in (("train strike", "one"), ("blue sky", "two"), ("green pear", "two")):
            first, second = store.search(NS, query=query)
            assert (first.key, first.score) == (best, pytest.approx(1, abs=1e-3))
            assert (second.score or 0.0) < 0.9
        assert store.score(NS, "harbour lights") < 0.9

    def test_an_item_that_is_not_indexed_is_kept_all_the_same(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "green tea"}, index=False)
        store.put(NS, "other", {"text": "black coffee"})
        assert store.keys(NS, query="green tea") == ["other"]
        assert store.value(NS, "k") == {"text": "green tea"}
        assert sorted(store.keys(NS)) == ["k", "other"]
        assert store.keys(NS, filter={"text": "green tea"}) == ["k"]
        assert store.list_namespaces() == [NS]

    def test_new_text_takes_the_place_of_the_old(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "zany zebra Xerxes"})
        store.put(NS, "other", {"text": "something about dogs"})
        assert store.keys(NS, query="zany Xerxes", limit=1) == ["k"]
        before = store.score(NS, "zany Xerxes")
        store.put(NS, "k", {"text": "a text about birds"})
        assert store.score(NS, "zany Xerxes") < before / 2
        assert store.keys(NS, query="birds", limit=1) == ["k"]

    def test_an_item_that_is_no_longer_indexed_is_not_found(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "green tea"})
        store.put(NS, "k", {"text": "green tea", "title": "harbour lights"}, index=False)
        assert store.search(NS, query="green tea") == []
        store.put(NS, "k", {"text": "green tea", "title": "harbour lights"}, index=["title"])
        assert store.score(NS, "green tea") < 0.9
        assert store.score(NS, "harbour lights") == pytest.approx(1, abs=1e-3)
        store.put(NS, "k", {"name": "green tea"})
        assert store.search(NS, query="green tea") == []

    def test_the_same_text_twice_in_an_item(self, store: Driver) -> None:
        for index in (["a", "b"], ["words[*]"]):
            value = {"a": "tea", "b": "tea", "words": ["tea", "tea"]}
            store.put(NS, "k", value, index=index)
            assert store.score(NS, "tea") == pytest.approx(1, abs=1e-3)

    def test_the_same_text_in_two_items(self, store: Driver) -> None:
        store.batch([PutOp(NS, key, {"text": "tea"}) for key in ("one", "two")])
        found = store.search(NS, query="tea")
        assert sorted(item.key for item in found) == ["one", "two"]
        assert [item.score for item in found] == [pytest.approx(1, abs=1e-3)] * 2
        store.delete(NS, "one")
        assert store.keys(NS, query="tea") == ["two"]

    def test_text_that_did_not_change_is_not_embedded_again(
        self, opened: Opener, embeddings: RecordingEmbeddings
    ) -> None:
        store = opened(fields=["words[*]"])
        store.put(NS, "k", {"words": ["tea", "coffee"], "n": 1})
        embeddings.embedded.clear()
        store.put(NS, "k", {"words": ["tea", "coffee"], "n": 2})
        assert embeddings.embedded == []
        store.put(NS, "k", {"words": ["coffee", "cocoa"], "n": 2})
        assert embeddings.embedded == ["cocoa"]
        for word in ("coffee", "cocoa"):
            assert store.score(NS, word) > 0.999
        assert store.score(NS, "tea") < 0.9

    def test_a_text_is_embedded_once_in_a_batch(
        self, opened: Opener, embeddings: RecordingEmbeddings
    ) -> None:
        store = opened(fields=["$"])
        embeddings.embedded.clear()
        store.put(NS, "k", {"a": "tea"}, index=["a", "{a,a}"])
        assert embeddings.embedded == ["tea"]

    def test_a_field_without_text(self, store: Driver) -> None:
        store.put(NS, "other", {"text": "tea"})
        for text in ("", " ", None, [], {}):
            store.put(NS, "k", {"text": text})
            assert store.value(NS, "k") == {"text": text}
            assert store.keys(NS, query="tea", limit=1) == ["other"]
            assert sorted(store.keys(NS)) == ["k", "other"]

    def test_a_long_text_is_found_by_its_end(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "The weather is fine today. " * 300 + "The violin broke."})
        store.put(NS, "other", {"text": "The weather is fine today."})
        assert store.keys(NS, query="The violin broke.", limit=1) == ["k"]
