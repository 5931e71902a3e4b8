"""Finding: by nearness to a query, or the last changed first, page by page."""

from itertools import chain

import pytest

from tests.contracts.base import ContractBase, Driver, RecordingEmbeddings

NS = ("docs",)
TEXTS = {
    "apple": "red apple from the garden",
    "car": "red car in the garage",
    "pear": "green pear from the garden",
    "sky": "blue sky above the sea",
}


class FindingContract(ContractBase):
    def test_without_a_query_the_last_changed_comes_first(self, store: Driver) -> None:
        for key in "abcd":
            store.put((*NS, key), key, {"text": key})
        assert store.keys(NS) == ["d", "c", "b", "a"]
        store.put((*NS, "b"), "b", {"text": "b"})
        store.put((*NS, "a"), "a", {"text": "other"})
        assert store.keys(NS) == ["a", "b", "d", "c"]

    @pytest.mark.parametrize("query", [None, "", "item"], ids=["none", "blank", "query"])
    def test_pages_neither_overlap_nor_leave_gaps(self, store: Driver, query: str | None) -> None:
        for n in range(45):
            store.put((*NS, str(n % 4)), f"k{n}", {"text": f"item {n % 6}"})
        everything = store.keys(NS, query=query, limit=100)
        assert sorted(everything) == sorted(f"k{n}" for n in range(45))
        for size in (1, 7, 20):
            pages = store.pages(NS, size, 45, query=query)
            assert [*chain(*pages)] == everything
            assert all(len(page) == size for page in pages[:-1])

    @pytest.mark.parametrize("query", [None, "tea"], ids=["none", "query"])
    def test_limit_and_offset(self, store: Driver, query: str | None) -> None:
        for n in range(12):
            store.put(NS, f"k{n}", {"text": f"tea {n}"})
        everything = store.keys(NS, query=query, limit=12)
        assert len(set(everything)) == 12
        assert store.keys(NS, query=query) == everything[:10]
        assert store.keys(NS, query=query, limit=3, offset=5) == everything[5:8]
        assert store.keys(NS, query=query, limit=10_000, offset=9) == everything[9:]
        assert store.keys(NS, query=query, limit=0) == []
        assert store.keys(NS, query=query, offset=12) == []
        assert store.keys(NS, query=query, offset=10_000) == []

    def test_the_nearest_comes_first(self, store: Driver) -> None:
        for key, text in TEXTS.items():
            store.put(NS, key, {"text": text})
        found = store.search(NS, query="red apple")
        assert found[0].key == "apple"
        assert {item.key for item in found} == set(TEXTS)
        scores = [item.score or 0.0 for item in found]
        assert scores == sorted(scores, reverse=True)
        assert store.keys(NS, query="the blue sea", limit=1) == ["sky"]

    def test_a_score_is_a_cosine(self, store: Driver, embeddings: RecordingEmbeddings) -> None:
        for key, text in TEXTS.items():
            store.put(NS, key, {"text": text})
        for query in ("red apple", "a green car", "nothing of the kind", *TEXTS.values()):
            for item in store.search(NS, query=query):
                expected = embeddings.cosine(TEXTS[item.key], query)
                assert item.score == pytest.approx(expected, abs=1e-3)

    def test_scores_do_not_depend_on_the_page(self, store: Driver) -> None:
        for key, text in TEXTS.items():
            store.put(NS, key, {"text": text})
        found = store.search(NS, query="red garden")
        for at, item in enumerate(found):
            assert store.search(NS, query="red garden", limit=1, offset=at)[0].score == item.score
        assert {item.score for item in store.search(NS)} == {None}

    def test_equal_scores_keep_an_order(self, store: Driver) -> None:
        for n in range(40):
            store.put(NS, f"k{n}", {"text": "the same"})
        store.put(NS, "best", {"text": "the best"})
        everything = store.keys(NS, query="the best", limit=100)
        assert everything[0] == "best"
        assert len(set(everything)) == 41
        for _ in range(2):
            assert [*chain(*store.pages(NS, 6, 41, query="the best"))] == everything

    def test_a_query_stays_under_its_prefix(self, store: Driver) -> None:
        store.put(("users", "ann"), "k", {"text": "coffee"})
        store.put(("users", "ann", "work"), "w", {"text": "tea"})
        store.put(("users", "anna"), "k", {"text": "tea"})
        store.put(("users", "bob"), "k", {"text": "tea"})
        found = store.search(("users", "ann"), query="tea")
        assert [(item.namespace, item.key) for item in found] == [
            (("users", "ann", "work"), "w"),
            (("users", "ann"), "k"),
        ]
        assert len(store.search(("users",), query="tea")) == 4
        assert len(store.search((), query="tea")) == 4

    def test_nothing_is_added_to_fill_the_limit(self, store: Driver) -> None:
        store.put(NS, "found", {"text": "tea"})
        store.put(NS, "unindexed", {"text": "tea"}, index=False)
        store.put(NS, "other", {"name": "tea"})
        assert store.keys(NS, query="tea") == ["found"]
        assert len(store.search(NS)) == 3

    def test_any_text_is_a_query(self, store: Driver) -> None:
        store.put(NS, "k", {"text": "green tea"})
        for query in ("tea " * 2000, "!@#$%^&*()", "' OR '1'='1", "素菜馆", "\n", "\u202e", "{}"):
            assert store.keys(NS, query=query) == ["k"]

    def test_texts_of_any_script_are_found(self, store: Driver) -> None:
        texts = [
            "这是中文",
            "これは日本語です",
            "이건 한국어야",
            "Это русский",
            "यह हिन्दी है",
            "עברית",
        ]
        for text in (*texts, *TEXTS.values()):
            store.put(NS, text, {"text": text})
        for text in texts:
            assert store.keys(NS, query=text, limit=1) == [text]

    def test_a_search_of_nothing_finds_nothing(self, store: Driver) -> None:
        assert store.search(()) == store.search(NS) == store.search(NS, query="tea") == []
        store.put(("other",), "k", {"text": "tea"})
        assert store.search(NS) == store.search(NS, query="tea") == []
