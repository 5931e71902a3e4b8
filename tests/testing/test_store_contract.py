"""The store contract, put to LangGraph's own in-memory store: where that one differs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
from langgraph.store.base import BaseStore, IndexConfig, TTLConfig
from langgraph.store.memory import InMemoryStore

from amem_integrations.testing.store_contract import StoreContract

RANGE = "a range over an item without the field, or with a text in it, raises"
DOTTED = "dots in a filter's key do not lead into nested objects"
PYTHON = "values are compared as Python does: true is one, and a missing field is None"
UNKNOWN = "operators beyond the six are not known"
STALE = "vectors of an item's earlier texts stay"
PADDED = "a query's results are filled up with items that have no vector"
UNCHECKED = "operations in a batch are not checked"
ALIASED = "values are handed out and taken in without a copy"
TWICE = "the same text at two paths of an item, or in two items of a batch, raises"
GHOST = "a namespace that was read, or emptied, stays listed"


# The contract's own lines are traced where AMemStore is put to it.
@pytest.mark.no_cover
class TestInMemoryStore(StoreContract):
    """It keeps no TTLs, so the tests of expiry are skipped."""

    differences: ClassVar[dict[str, str]] = {
        "test_bad_labels_are_refused_before_anything_is_done": UNCHECKED,
        "test_negative_bounds_are_refused_before_anything_is_done": UNCHECKED,
        "test_negative_bounds_are_refused": UNCHECKED,
        "test_negative_bounds_of_a_listing_are_refused": UNCHECKED,
        "test_what_json_cannot_hold_is_refused": "values are never written as JSON",
        "test_a_bad_call_fails_alone": "values are never written as JSON",
        "test_a_stored_value_is_nobody_elses": ALIASED,
        "test_one_item_may_be_read_twice": ALIASED,
        "test_the_time_of_creation_survives_updates": "a put makes the item anew",
        "test_reading_what_is_not_there_leaves_no_trace": GHOST,
        "test_deleting_leaves_nothing_behind": GHOST,
        "test_a_namespace_is_listed_while_it_holds_something": GHOST,
        "test_labels_may_come_in_a_list": "labels in a list cannot be hashed",
        "test_without_a_query_the_last_changed_comes_first": "items come as they were first put",
        "test_nothing_is_added_to_fill_the_limit": PADDED,
        "test_an_item_that_is_not_indexed_is_kept_all_the_same": PADDED,
        "test_an_item_that_is_no_longer_indexed_is_not_found": STALE,
        "test_an_item_that_loses_its_text_is_not_found": STALE,
        "test_fewer_texts_leave_none_of_the_old": STALE,
        "test_another_path_leaves_none_of_the_old": STALE,
        "test_the_same_text_twice_in_an_item": TWICE,
        "test_the_same_text_in_two_items_of_a_batch": TWICE,
        "test_a_text_is_embedded_once_in_a_batch": TWICE,
        "test_text_that_did_not_change_is_not_embedded_again": "a put embeds all of its texts",
        "test_the_whole_value[put]": "a put's own path '$' is taken for a key",
        "test_filters_beyond_those_of_langgraph": UNKNOWN,
        "test_filters[true is not one]": PYTHON,
        "test_filters[one is not true]": PYTHON,
        "test_filters[zero is not false]": PYTHON,
        "test_filters[null, where there is one]": PYTHON,
        "test_filters[$ne, where there is a value]": PYTHON,
        "test_filters[$gt]": RANGE,
        "test_filters[$gte]": RANGE,
        "test_filters[$lt]": RANGE,
        "test_filters[$lte]": RANGE,
        "test_filters[$gt of a fraction]": RANGE,
        "test_filters[$gt of a negative number]": RANGE,
        "test_filters[between]": RANGE,
        "test_filters[ranges of text]": RANGE,
        "test_filters[a range over a missing key]": RANGE,
        "test_filters[above minus infinity]": RANGE,
        "test_filters[below infinity]": RANGE,
        "test_filters[below a very large number]": RANGE,
        "test_filters[a dotted key]": DOTTED,
        "test_filters[a dotted key with a hyphen]": DOTTED,
        "test_filters[a dotted key with operators]": DOTTED,
        "test_filters[a key with a dot in it]": DOTTED,
    }

    @pytest.fixture(params=["sync"])
    def form(self, request: pytest.FixtureRequest) -> str:
        """One is enough: it does the same in both."""
        return request.param

    @contextmanager
    def open_store(self, *, index: IndexConfig, ttl: TTLConfig | None) -> Iterator[BaseStore]:
        yield InMemoryStore(index=index)
