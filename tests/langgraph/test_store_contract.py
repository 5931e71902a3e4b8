"""AMemStore keeps the store contract, on every engine and however its notes are formed."""

import importlib.util
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from langgraph.store.base import BaseStore, IndexConfig, TTLConfig

from amem_integrations import AgenticMemory
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.formation.pipeline import Formation
from amem_integrations.langgraph import AMemStore
from tests.contracts.base import ContractBase
from tests.contracts.batches import BatchContract
from tests.contracts.filters import FilterContract
from tests.contracts.indexing import IndexingContract
from tests.contracts.namespaces import NamespaceContract
from tests.contracts.store import StoreContract
from tests.contracts.values import ValueContract
from tests.langgraph.support import without_qdrant_edge
from tests.support import EMBEDDER, io_of, parts_of

SERVER = os.environ.get("AMEM_TEST_QDRANT_URL")
# All of the contract is asked of the sync form on the embedded engine. The async form, notes formed
# at once and other engines are asked for parts, or for all with AMEM_TEST_EVERY_FORM=1.
EVERY_FORM = bool(SERVER or os.environ.get("AMEM_TEST_EVERY_FORM"))
# The same lines as on the embedded engine: to trace them would double their time.
untraced = pytest.mark.no_cover


class Borrowed:
    """Whoever embeds for the test at hand, to a memory that outlives it."""

    def __init__(self) -> None:
        self.name = "borrowed"
        self.embedder: Any = EMBEDDER

    def __getattr__(self, name: str) -> Any:
        return getattr(self.embedder, name)


class OneMemory(ContractBase):
    """The contract on one memory, which is emptied before each test: opening takes its time."""

    formation: ClassVar[Formation]
    engine: ClassVar[str]
    location: ClassVar[str | None] = None

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def one_memory(cls) -> Iterator[None]:
        cls.now = datetime(2026, 3, 1, tzinfo=UTC)
        cls.borrowed = Borrowed()
        with pytest.MonkeyPatch.context() as patch:
            if cls.engine == "ClientEngine" and cls.location is None:
                patch.setattr(importlib.util, "find_spec", without_qdrant_edge)
            cls.memory = AgenticMemory(
                cls.location,
                embedder=cls.borrowed,
                collection=f"contract-{uuid.uuid4().hex[:12]}",
                clock=lambda: cls.now,
            )
        assert type(parts_of(cls.memory).store.sync).__name__ == cls.engine
        yield
        cls.empty()
        cls.memory.close()

    @contextmanager
    def open_store(self, *, index: IndexConfig, ttl: TTLConfig | None) -> Iterator[BaseStore]:
        self.empty()
        self.borrowed.embedder = index["embed"]
        fields = IndexConfig(fields=index["fields"])
        with AMemStore(self.memory, index=fields, ttl=ttl, formation=self.formation) as store:
            yield store
        self.settle()
        assert self.memory.admin.check() == []

    @classmethod
    def empty(cls) -> None:
        cls.settle()
        run(io_of(cls.memory).engine.delete(match("kind", "note", "revision")))

    @classmethod
    def settle(cls) -> None:
        """Let the background finish; unlike `flush`, do not wait for the disk."""
        assert parts_of(cls.memory).wait(60)

    def pass_time(self, seconds: float) -> None:
        type(self).now += timedelta(seconds=seconds)


class Forms(OneMemory):
    """The sync form, and the async one with AMEM_TEST_EVERY_FORM=1."""

    @pytest.fixture(params=["sync", "async"] if EVERY_FORM else ["sync"])
    def form(self, request: pytest.FixtureRequest) -> str:
        return request.param


class Awaited(OneMemory):
    @pytest.fixture
    def form(self) -> str:
        return "async"


class TestOnTheEmbeddedEngine(Forms, StoreContract):
    formation = "background"
    engine = "EdgeEngine"


class TestAwaited(Awaited, BatchContract, NamespaceContract):
    formation = "background"
    engine = "EdgeEngine"


@untraced
class TestFormedBeforePutReturns(Awaited, IndexingContract):
    formation = "inline"
    engine = "EdgeEngine"


@untraced
class TestInTheClientsLocalMode(Awaited, ValueContract, FilterContract):
    formation = "off"
    engine = "ClientEngine"


if EVERY_FORM:

    @untraced
    class TestAllFormedBeforePutReturns(Forms, StoreContract):
        formation = "inline"
        engine = "EdgeEngine"

    @untraced
    class TestAllInTheClientsLocalMode(Forms, StoreContract):
        formation = "off"
        engine = "ClientEngine"


if SERVER is not None:

    class TestOnAServer(Forms, StoreContract):
        formation = "background"
        engine = "ClientEngine"
        location = SERVER
