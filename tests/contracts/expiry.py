"""Expiry: items that are kept for some minutes after they were last written or read."""

from typing import cast

import pytest
from langgraph.store.base import TTLConfig

from tests.contracts.base import ContractBase, Driver, Opener

NS = ("docs",)
SECONDS = 1.0
TTL = SECONDS / 60
LONG = 60.0


class ExpiryContract(ContractBase):
    @pytest.fixture
    def keeping(self, opened: Opener) -> Opener:
        """Opens a store as `opened` does; skips for one that keeps everything for good."""

        def open_(**config: object) -> Driver:
            store = opened(ttl=cast("TTLConfig", config))
            if not store.store.supports_ttl:
                pytest.skip("the store does not support TTLs")
            return store

        return open_

    def test_an_item_past_its_time_is_swept(self, keeping: Opener) -> None:
        store = keeping()
        store.put(NS, "short", {"text": "tea"}, ttl=TTL)
        store.put(NS, "long", {"text": "tea"}, ttl=LONG)
        store.put(NS, "forever", {"text": "tea"})
        assert self.sweep(store.store) == 0
        assert store.value(NS, "short") == {"text": "tea"}
        self.pass_time(1.5 * SECONDS)
        assert self.sweep(store.store) == 1
        assert store.get(NS, "short") is None
        assert sorted(store.keys(NS)) == sorted(store.keys(NS, query="tea")) == ["forever", "long"]
        assert self.sweep(store.store) == 0

    def test_many_items_are_swept(self, keeping: Opener) -> None:
        store = keeping(default_ttl=TTL)
        for n in range(40):
            store.put(NS, str(n), {"n": n}, index=False)
        self.pass_time(2 * SECONDS)
        assert self.sweep(store.store) == 40
        assert store.search(NS) == store.list_namespaces() == []

    def test_the_default_counts_unless_a_put_says_otherwise(self, keeping: Opener) -> None:
        store = keeping(default_ttl=TTL)
        store.put(NS, "default", {"text": "tea"})
        store.put(NS, "long", {"text": "tea"}, ttl=LONG)
        store.put(NS, "forever", {"text": "tea"}, ttl=None)
        self.pass_time(1.5 * SECONDS)
        assert self.sweep(store.store) == 1
        assert sorted(store.keys(NS)) == ["forever", "long"]

    @pytest.mark.parametrize("read", ["get", "search", "query", "filter"])
    def test_reading_starts_the_time_anew(self, keeping: Opener, read: str) -> None:
        store = keeping(default_ttl=TTL, refresh_on_read=True)
        store.put(NS, "k", {"text": "tea", "n": 1})
        for _ in range(2):
            self.pass_time(0.6 * SECONDS)
            self._read(store, read)
        assert self.sweep(store.store) == 0
        assert store.get(NS, "k", refresh_ttl=False) is not None
        self.pass_time(1.5 * SECONDS)
        assert self.sweep(store.store) == 1

    @pytest.mark.parametrize("read", ["get", "search", "query"])
    def test_reading_need_not_start_the_time_anew(self, keeping: Opener, read: str) -> None:
        store = keeping(default_ttl=TTL)
        store.put(NS, "k", {"text": "tea"})
        self.pass_time(0.6 * SECONDS)
        self._read(store, read, refresh_ttl=False)
        self.pass_time(0.6 * SECONDS)
        assert self.sweep(store.store) == 1

    def test_the_store_says_whether_reading_starts_the_time_anew(self, keeping: Opener) -> None:
        store = keeping(default_ttl=TTL, refresh_on_read=False)
        store.put(NS, "read", {"text": "tea"})
        store.put(NS, "refreshed", {"text": "tea"})
        self.pass_time(0.6 * SECONDS)
        store.get(NS, "read")
        store.get(NS, "refreshed", refresh_ttl=True)
        self.pass_time(0.6 * SECONDS)
        assert self.sweep(store.store) == 1
        assert store.keys(NS) == ["refreshed"]

    def test_writing_starts_the_time_anew(self, keeping: Opener) -> None:
        store = keeping(default_ttl=TTL)
        store.put(NS, "k", {"text": "tea"})
        self.pass_time(0.6 * SECONDS)
        store.put(NS, "k", {"text": "tea"})
        self.pass_time(0.6 * SECONDS)
        assert self.sweep(store.store) == 0
        assert store.value(NS, "k") == {"text": "tea"}

    @pytest.mark.parametrize("text", ["tea", "coffee"])
    def test_a_put_without_a_time_keeps_for_good(self, keeping: Opener, text: str) -> None:
        store = keeping()
        store.put(NS, "k", {"text": "tea"}, ttl=TTL)
        store.put(NS, "k", {"text": text}, ttl=None)
        self.pass_time(1.5 * SECONDS)
        assert self.sweep(store.store) == 0
        assert store.value(NS, "k") == {"text": text}

    def test_what_is_past_its_time_is_shown_until_it_is_swept(self, keeping: Opener) -> None:
        store = keeping()
        store.put(NS, "k", {"text": "tea"}, ttl=TTL)
        self.pass_time(1.5 * SECONDS)
        assert store.get(NS, "k", refresh_ttl=False) is not None
        assert store.keys(NS, refresh_ttl=False) == ["k"]
        assert store.list_namespaces() == [NS]

    def test_what_is_past_its_time_can_be_hidden(self, keeping: Opener) -> None:
        store = keeping(omit_expired=True)
        store.put(("omit", "expired"), "k", {"text": "tea", "n": 1}, ttl=TTL)
        store.put(("omit", "kept"), "k", {"text": "tea", "n": 1}, ttl=None)
        self.pass_time(1.5 * SECONDS)
        assert store.get(("omit", "expired"), "k") is None
        assert store.get(("omit", "kept"), "k") is not None
        for options in ({}, {"query": "tea"}, {"filter": {"n": 1}}):
            found = store.search(("omit",), **options)
            assert [item.namespace for item in found] == [("omit", "kept")]
        assert store.list_namespaces(prefix=("omit",)) == [("omit", "kept")]
        assert self.sweep(store.store) == 1

    def test_reading_does_not_bring_back_what_is_hidden(self, keeping: Opener) -> None:
        store = keeping(omit_expired=True, default_ttl=TTL)
        store.put(NS, "k", {"text": "tea"})
        self.pass_time(1.5 * SECONDS)
        assert store.get(NS, "k", refresh_ttl=True) is None
        assert store.search(NS, refresh_ttl=True) == []
        store.put(NS, "again", {"text": "tea"})
        self.pass_time(1.5 * SECONDS)
        store.put(NS, "again", {"text": "coffee"}, ttl=LONG)
        assert store.value(NS, "again") == {"text": "coffee"}
        assert self.sweep(store.store) == 1

    def test_hidden_items_leave_pages_full(self, keeping: Opener) -> None:
        store = keeping(omit_expired=True)
        for n in range(20):
            ttl = TTL if n % 2 else LONG
            store.put(NS, f"{n:02}", {"text": "tea"}, ttl=ttl)
        self.pass_time(1.5 * SECONDS)
        kept = [f"{n:02}" for n in range(18, -1, -2)]
        pages = [store.keys(NS, limit=4, offset=at) for at in (0, 4, 8)]
        assert pages == [kept[:4], kept[4:8], kept[8:]]

    def test_a_time_that_is_none_is_refused(self, keeping: Opener) -> None:
        store = keeping()
        for ttl in (-1, float("nan")):
            with pytest.raises(ValueError):
                store.put(NS, "k", {"text": "tea"}, ttl=ttl)
        assert store.search(NS) == []

    def _read(self, store: Driver, how: str, **options: bool) -> None:
        match how:
            case "get":
                assert store.get(NS, "k", **options) is not None
            case "search":
                assert store.keys(NS, **options) == ["k"]
            case "query":
                assert store.keys(NS, query="tea", **options) == ["k"]
            case _:
                assert store.keys(NS, filter={"n": 1}, **options) == ["k"]
