"""The contract of a LangGraph store, as tests that any `BaseStore` can be put to.

What users rely on: the behaviours that LangGraph's own tests pin down for its Postgres, SQLite
and in-memory stores, the sane one where those disagree, and what its filters cannot do yet.
Needs pytest. Every test calls a store in its sync and in its async form.

    from amem_integrations.testing import StoreContract

    class TestMyStore(StoreContract):
        @contextmanager
        def open_store(self, *, index, ttl):
            with MyStore(index=index, ttl=ttl) as store:
                yield store

        differences = {"test_a_name_from_the_contract": "why it is not so here"}
"""

import pytest

_PARTS = ("base", "batches", "values", "filters", "finding", "indexing", "namespaces", "expiry")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in (*_PARTS, "running")))

from amem_integrations.testing.store_contract.base import (  # noqa: E402
    Driver,
    Opener,
    RecordingEmbeddings,
)
from amem_integrations.testing.store_contract.batches import BatchContract  # noqa: E402
from amem_integrations.testing.store_contract.expiry import ExpiryContract  # noqa: E402
from amem_integrations.testing.store_contract.filters import FilterContract  # noqa: E402
from amem_integrations.testing.store_contract.finding import FindingContract  # noqa: E402
from amem_integrations.testing.store_contract.indexing import IndexingContract  # noqa: E402
from amem_integrations.testing.store_contract.namespaces import NamespaceContract  # noqa: E402
from amem_integrations.testing.store_contract.running import RunningContract  # noqa: E402
from amem_integrations.testing.store_contract.values import ValueContract  # noqa: E402

__all__ = ["Driver", "Opener", "RecordingEmbeddings", "StoreContract"]


class StoreContract(
    BatchContract,
    ValueContract,
    FilterContract,
    FindingContract,
    IndexingContract,
    NamespaceContract,
    ExpiryContract,
    RunningContract,
):
    """Every part of the contract of a LangGraph store; a subclass says how its store is opened.

    Every test calls a store in its sync and in its async form. A subclass may name known
    `differences`, and tell a clock of its own to `pass_time`.

    Examples:
        >>> from contextlib import contextmanager
        >>> from amem_integrations.testing import StoreContract
        >>> from langgraph.store.memory import InMemoryStore
        >>> class TestMyStore(StoreContract):  # in a module that pytest collects
        ...     differences = {"test_the_time_of_creation_survives_updates": "it is made anew"}
        ...
        ...     @contextmanager
        ...     def open_store(self, *, index, ttl):
        ...         yield InMemoryStore(index=index)
        >>> len([name for name in dir(TestMyStore) if name.startswith("test_")]) > 100
        True
    """
