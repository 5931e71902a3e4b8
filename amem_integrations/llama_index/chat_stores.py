"""Where the chat messages of a memory are kept: in the process, or in a database.

LlamaIndex's own default, SQLite in memory, loses messages that are put at the same time and has
no tables yet when it is first read twice at once. So the default here keeps messages itself, on
no event loop in particular, and a database is set up before anyone reads it.
"""

import logging
import threading
from collections.abc import Mapping
from itertools import count
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from pydantic import PrivateAttr
from sqlalchemy.ext.asyncio import AsyncEngine

from amem_integrations.llama_index.sql import SQLChatStore

_LOG = logging.getLogger(__name__)

# id, status, message as JSON
_Row = tuple[int, MessageStatus, dict[str, Any]]
_SQLITE_IN_MEMORY = ("sqlite+aiosqlite:///:memory:", "sqlite+aiosqlite://")


class InProcessChatStore(AsyncDBChatStore):
    """Keeps messages as a database would, as JSON, so that each read gives fresh ones.

    They live as long as this object, and travel with the memory that is serialised.
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
        rows = self._of(key, status)[offset or 0 :][:limit]
        return [ChatMessage.model_validate(data) for _, _, data in rows]

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
        new = [message.model_dump(mode="json") for message in messages]
        with self._lock:
            self._append(key, new, status)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        new = [message.model_dump(mode="json") for message in messages]
        with self._lock:
            self._rows[key] = []
            self._append(key, new, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        with self._lock:
            rows = self._rows.get(key, [])
            found = [row for row in rows if row[0] == idx]
            self._rows[key] = [row for row in rows if row[0] != idx]
        return ChatMessage.model_validate(found[0][2]) if found else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        with self._lock:
            rows = self._rows.pop(key, [])
            kept = [row for row in rows if status is not None and row[1] != status]
            if kept:
                self._rows[key] = kept

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        with self._lock:
            oldest = self._of(key, MessageStatus.ACTIVE)[:n]
            ids = {row[0] for row in oldest}
            self._rows[key] = [row for row in self._rows.get(key, []) if row[0] not in ids]
        return [ChatMessage.model_validate(data) for _, _, data in oldest]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        with self._lock:
            oldest = self._of(key, MessageStatus.ACTIVE)[:n]
            ids = {row[0] for row in oldest}
            self._rows[key] = [
                (id, MessageStatus.ARCHIVED if id in ids else status, data)
                for id, status, data in self._rows.get(key, [])
            ]
        return [ChatMessage.model_validate(data) for _, _, data in oldest]

    async def get_keys(self) -> list[str]:
        return list(self._rows)

    def dump(self, key: str) -> list[list[Any]]:
        """The messages of one key, JSON-native; `load` reads them."""
        return [[str(status.value), data] for _, status, data in self._of(key, None)]

    def load(self, key: str, dumped: list[list[Any]]) -> None:
        with self._lock:
            self._rows[key] = []
            for status, data in dumped:
                self._append(key, [data], MessageStatus(status))

    @classmethod
    def class_name(cls) -> str:
        return "InProcessChatStore"

    def _of(self, key: str, status: MessageStatus | None) -> list[_Row]:
        rows = self._rows.get(key, ())
        return [row for row in rows if status is None or row[1] == status]

    def _append(self, key: str, new: list[dict[str, Any]], status: MessageStatus) -> None:
        self._rows.setdefault(key, []).extend((next(self._ids), status, data) for data in new)


def chat_store(
    *,
    chat_store: AsyncDBChatStore | None = None,
    async_database_uri: str | None = None,
    async_engine: AsyncEngine | None = None,
    table_name: str = "llama_index_memory",
    db_schema: str | None = None,
) -> AsyncDBChatStore:
    """The chat store that LlamaIndex's arguments mean; in the process if they say nothing."""
    if chat_store is not None:
        return chat_store
    if async_engine is not None:
        async_database_uri = async_engine.url.render_as_string(hide_password=False)
    elif async_database_uri is None or async_database_uri in _SQLITE_IN_MEMORY:
        return InProcessChatStore()
    return SQLChatStore.at(
        async_database_uri, table_name=table_name, db_schema=db_schema, engine=async_engine
    )


def dumped(store: AsyncDBChatStore, key: str) -> dict[str, Any]:
    """How to get the messages under `key` back, JSON-native: themselves, or their database."""
    if isinstance(store, InProcessChatStore):
        return {"messages": store.dump(key)}
    if isinstance(store, SQLAlchemyChatStore):
        return {
            "async_database_uri": store.async_database_uri,
            "table_name": store.table_name,
            "db_schema": store.db_schema,
        }
    _LOG.warning(
        "A %s does not travel with the memory that is serialised; give chat_store= to from_dict.",
        type(store).__name__,
    )
    return {"messages": []}


def loaded(data: Mapping[str, Any], key: str) -> AsyncDBChatStore:
    """The chat store that `dumped` described."""
    if "messages" not in data:
        return chat_store(**data)
    store = InProcessChatStore()
    store.load(key, data["messages"])
    return store
