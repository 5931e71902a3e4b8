"""Where the chat messages of a memory are kept: in the process, or in a database.

LlamaIndex's own default, SQLite in memory, loses messages that are put at the same time and has
no tables yet when two readers come first. The default here keeps messages itself, on no event loop;
a database is set up before its first reader, and serves any number of event loops.
"""

import asyncio
import logging
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from pydantic import PrivateAttr
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import sessionmaker
from sqlalchemy.pool import NullPool

from amem_integrations.llama_index.messages import INSTRUCTIONS

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

SQLITE_TIMEOUT = 30.0
"""Seconds that a writer waits for another one."""

_TRIES = 6
_SQLITE_IN_MEMORY = ("sqlite+aiosqlite:///:memory:", "sqlite+aiosqlite://")


@dataclass
class _Row:
    """A message as JSON."""

    id: int
    status: MessageStatus
    data: dict[str, Any]


class InProcessChatStore(AsyncDBChatStore):
    """Keeps messages as JSON, so that each read gives fresh ones.

    They live as long as this object, and are serialised with their memory.
    """

    _rows: dict[str, list[_Row]] = PrivateAttr(default_factory=dict[str, list[_Row]])
    _ids: Any = PrivateAttr(default_factory=count)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        return _messages(self._of(key, status)[offset or 0 :][:limit])

    async def count_messages(
        self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE
    ) -> int:
        return len(self._of(key, status))

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        self._append(key, [(status, message.model_dump(mode="json")) for message in messages])

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        new = [(status, message.model_dump(mode="json")) for message in messages]
        self._append(key, new, replace=True)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        with self._lock:
            found = [row for row in self._of(key, None) if row.id == idx]
            self._delete(key, found)
        return _messages(found)[0] if found else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        with self._lock:
            self._delete(key, self._of(key, status))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        with self._lock:
            oldest = self._of(key, MessageStatus.ACTIVE)[:n]
            self._delete(key, oldest)
        return _messages(oldest)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the oldest messages that are no instructions; return them."""
        with self._lock:
            active = self._of(key, MessageStatus.ACTIVE)
            oldest = [row for row in active if row.data["role"] not in INSTRUCTIONS][:n]
            for row in oldest:
                row.status = MessageStatus.ARCHIVED
        return _messages(oldest)

    async def get_keys(self) -> list[str]:
        return list(self._rows)

    def dump(self, key: str) -> list[list[Any]]:
        """Return the messages of one key, JSON-native, for `load`."""
        return [[str(row.status.value), row.data] for row in self._of(key, None)]

    def load(self, key: str, dumped: list[list[Any]]) -> None:
        self._append(key, [(MessageStatus(status), data) for status, data in dumped], replace=True)

    @classmethod
    def class_name(cls) -> str:
        return "InProcessChatStore"

    def _of(self, key: str, status: MessageStatus | None) -> list[_Row]:
        rows = self._rows.get(key, ())
        return [row for row in rows if status is None or row.status == status]

    def _append(
        self, key: str, new: list[tuple[MessageStatus, dict[str, Any]]], *, replace: bool = False
    ) -> None:
        with self._lock:
            before = [] if replace else self._rows.get(key, [])
            self._rows[key] = [*before, *(_Row(next(self._ids), *each) for each in new)]

    def _delete(self, key: str, rows: list[_Row]) -> None:
        gone = {row.id for row in rows}
        kept = [row for row in self._of(key, None) if row.id not in gone]
        self._rows.pop(key, None)
        if kept:
            self._rows[key] = kept


def _messages(rows: list[_Row]) -> list[ChatMessage]:
    return [ChatMessage.model_validate(row.data) for row in rows]


class SQLChatStore(SQLAlchemyChatStore):
    """LlamaIndex's SQL chat store for any number of event loops; its table exists before any use.

    An engine of the caller is used on every loop, and closed by the caller.
    """

    _given_engine: AsyncEngine | None = PrivateAttr(default=None)
    _engines: dict[asyncio.AbstractEventLoop, AsyncEngine] = PrivateAttr(
        default_factory=dict[asyncio.AbstractEventLoop, AsyncEngine]
    )
    _made_table: Any = PrivateAttr(default=None)
    _making: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]" = PrivateAttr(
        default_factory=WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
    )

    @classmethod
    def at(
        cls, uri: str, *, table_name: str, db_schema: str | None, engine: AsyncEngine | None = None
    ) -> "SQLChatStore":
        store = cls(table_name=table_name, async_database_uri=uri, db_schema=db_schema)
        store._given_engine = engine
        return store

    def _engine_here(self) -> AsyncEngine:
        """Return the engine of the running loop. It keeps no connections that outlive the loop."""
        here = asyncio.get_running_loop()
        if here not in self._engines:
            for loop in [loop for loop in list(self._engines) if loop.is_closed()]:
                self._engines.pop(loop, None)
            self._engines[here] = create_async_engine(
                self.async_database_uri,
                poolclass=NullPool,
                connect_args={"timeout": SQLITE_TIMEOUT} if self._is_sqlite_database() else {},
            )
        return self._engines[here]

    async def _initialize(self) -> Any:
        engine = self._given_engine or self._engine_here()
        if self._made_table is None:
            async with self._making.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                await self._ensure_table(engine)
        sessions: Any = sessionmaker(engine, class_=AsyncSession, expire_on_commit=False)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return sessions, self._made_table

    async def _ensure_table(self, engine: AsyncEngine) -> None:
        for tried in range(_TRIES):
            if self._made_table is not None:
                return
            try:
                self._made_table = await self._make_table(engine)
            except DBAPIError:
                # Another loop or process may be making it at the same moment.
                if tried == _TRIES - 1:
                    raise
                await asyncio.sleep(0.02 * 2**tried)

    async def _make_table(self, engine: AsyncEngine) -> Any:
        if self._given_engine is None and self._is_sqlite_database():
            # Readers do not wait for a writer then; the file remembers it.
            async with engine.connect() as connection:
                await connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        # By another store: LlamaIndex's shows a table to others before it is made.
        store: Any = SQLAlchemyChatStore(
            table_name=self.table_name,
            async_database_uri=self.async_database_uri,
            async_engine=engine,
            db_schema=self.db_schema,
        )
        return (await store._initialize())[1]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the oldest messages that are no instructions; return them."""
        sessions, table = await self._initialize()
        oldest = (
            select(table)
            .where(
                table.c.key == key,
                table.c.status == MessageStatus.ACTIVE.value,
                table.c.role.not_in(INSTRUCTIONS),
            )
            .order_by(table.c.timestamp, table.c.id)
            .limit(n)
        )
        async with sessions() as session:
            rows = (await session.execute(oldest)).fetchall()
            archived = update(table).where(table.c.id.in_([row.id for row in rows]))
            await session.execute(archived.values(status=MessageStatus.ARCHIVED.value))
            await session.commit()
        return [ChatMessage.model_validate(row.data) for row in rows]


def open_chat_store(
    *,
    chat_store: AsyncDBChatStore | None = None,
    async_database_uri: str | None = None,
    async_engine: AsyncEngine | None = None,
    table_name: str = "llama_index_memory",
    db_schema: str | None = None,
) -> AsyncDBChatStore:
    """Return the chat store for LlamaIndex's arguments; without any, one in the process."""
    if chat_store is not None:
        return chat_store
    if async_engine is not None:
        async_database_uri = async_engine.url.render_as_string(hide_password=False)
    elif async_database_uri is None or async_database_uri in _SQLITE_IN_MEMORY:
        return InProcessChatStore()
    return SQLChatStore.at(
        async_database_uri, table_name=table_name, db_schema=db_schema, engine=async_engine
    )


def dump_chat_store(store: AsyncDBChatStore, key: str) -> dict[str, Any]:
    """Return the messages under `key`, or the address of their database, JSON-native."""
    if isinstance(store, InProcessChatStore):
        return {"messages": store.dump(key)}
    if isinstance(store, SQLAlchemyChatStore):
        return {
            "async_database_uri": store.async_database_uri,
            "table_name": store.table_name,
            "db_schema": store.db_schema,
        }
    _LOG.warning(
        "A %s is not serialised with its memory; give chat_store= to from_dict.",
        type(store).__name__,
    )
    return {"messages": []}


def load_chat_store(data: Mapping[str, Any], key: str) -> AsyncDBChatStore:
    """Return the chat store that `dump_chat_store` described."""
    if "messages" not in data:
        return open_chat_store(**data)
    store = InProcessChatStore()
    store.load(key, data["messages"])
    return store


def block_on(operation: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that may suspend, from sync code, on an event loop of its own.

    Where a loop is running already, as in a notebook, it runs in a thread.
    """
    if not loop_is_running():
        return _on_own_loop(operation)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(copy_context().run, _on_own_loop, operation).result()


def _on_own_loop(operation: Coroutine[Any, Any, T]) -> T:
    # With a factory the thread's current loop, which older code may ask for, is left alone.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(operation)


def loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
