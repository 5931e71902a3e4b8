"""The contract of a LangGraph store, as tests that any `BaseStore` can be put to.

It holds the behaviours that LangGraph's own tests pin down for its Postgres, SQLite and in-memory
stores, and the sane one where those disagree. Every test calls a store in its sync and async form.
"""

from tests.contracts.batches import BatchContract
from tests.contracts.expiry import ExpiryContract
from tests.contracts.filters import FilterContract
from tests.contracts.finding import FindingContract
from tests.contracts.indexing import IndexingContract
from tests.contracts.namespaces import NamespaceContract
from tests.contracts.running import RunningContract
from tests.contracts.values import ValueContract


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
    """Every part of the contract; a subclass says how its store is opened."""
