"""LlamaIndex's SQL chat store, for however many event loops.

Connections belong to the loop that made them. So each loop has an engine, which all chats in one
database share, and which is closed with the loop.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, TypeAlias

from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from pydantic import PrivateAttr
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import sessionmaker

Place: TypeAlias = tuple[asyncio.AbstractEventLoop, str]

_engines: dict[Place, tuple[AsyncEngine, AsyncGenerator[None]]] = {}


class SQLChatStore(SQLAlchemyChatStore):
    """A chat store whose table exists before anyone uses it.

    An engine of the caller's own is used as it is, on every loop, and closed by the caller.
    """

    _given_engine: AsyncEngine | None = PrivateAttr(default=None)
    _made_table: Any = PrivateAttr(default=None)

    @classmethod
    def at(
        cls, uri: str, *, table_name: str, db_schema: str | None, engine: AsyncEngine | None = None
    ) -> "SQLChatStore":
        store = cls(table_name=table_name, async_database_uri=uri, db_schema=db_schema)
        store._given_engine = engine
        return store

    async def _initialize(self) -> Any:
        engine = self._given_engine or await engine_here(self.async_database_uri)
        if self._made_table is None:
            try:
                self._made_table = await self._make_table(engine)
            except DBAPIError:
                # Someone else made it in the same moment; then it is there now.
                self._made_table = await self._make_table(engine)
        sessions: Any = sessionmaker(engine, class_=AsyncSession, expire_on_commit=False)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return sessions, self._made_table

    async def _make_table(self, engine: AsyncEngine) -> Any:
        # By another store: LlamaIndex's shows a table to others before it is made.
        store: Any = SQLAlchemyChatStore(
            table_name=self.table_name,
            async_database_uri=self.async_database_uri,
            async_engine=engine,
            db_schema=self.db_schema,
        )
        return (await store._initialize())[1]


async def engine_here(uri: str) -> AsyncEngine:
    """The engine of the running loop for a database.

    It is closed when the loop shuts down its async generators, as asyncio.run does.
    """
    here = asyncio.get_running_loop(), uri
    if here not in _engines:
        for place in [place for place in list(_engines) if place[0].is_closed()]:
            _engines.pop(place, None)
        engine = create_async_engine(uri)
        keeper = _keep(here, engine)
        _engines[here] = engine, keeper
        await anext(keeper)
    return _engines[here][0]


async def _keep(place: Place, engine: AsyncEngine) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        _engines.pop(place, None)
        await engine.dispose()
