"""Where chat messages are kept: in the process as a database would, or in a database."""

import asyncio
import sqlite3
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from amem_integrations.core.io import run
from amem_integrations.llama_index import chat_store
from amem_integrations.llama_index.chat_store import (
    InProcessChatStore,
    dump_chat_store,
    load_chat_store,
    open_chat_store,
)
from tests.llama_index.support import assistant, user

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED


def texts(messages: list[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


@pytest.fixture(params=["in the process", "in a file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncDBChatStore:
    if request.param == "in the process":
        return open_chat_store()
    return open_chat_store(async_database_uri=f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}")


def do(*steps: Coroutine[Any, Any, Any]) -> Any:
    async def all_of_them() -> Any:
        for step in steps:
            result = await step
        return result

    return asyncio.run(all_of_them())


# -- both keep the same things -------------------------------------------------------------------


def test_messages_come_back_in_order_for_their_key(store: AsyncDBChatStore) -> None:
    one, two, three = user("One"), assistant("Two"), user("Three")
    do(store.add_message("a", one), store.add_messages("a", [two, three]))
    do(store.add_message("b", user("Elsewhere")))
    assert do(store.get_messages("a")) == [one, two, three]
    assert texts(do(store.get_messages("a", limit=1, offset=1))) == ["Two"]
    assert do(store.count_messages("a")) == 3
    assert do(store.get_messages("nowhere")) == []
    assert set(do(store.get_keys())) == {"a", "b"}


def test_the_oldest_are_archived_or_deleted(store: AsyncDBChatStore) -> None:
    do(store.add_messages("a", [user("One"), user("Two"), user("Three")]))
    assert texts(do(store.archive_oldest_messages("a", 2))) == ["One", "Two"]
    assert texts(do(store.get_messages("a"))) == ["Three"]
    assert texts(do(store.get_messages("a", status=ARCHIVED))) == ["One", "Two"]
    assert texts(do(store.get_messages("a", status=None))) == ["One", "Two", "Three"]
    assert do(store.count_messages("a", status=None)) == 3
    do(store.add_message("a", user("Four")))
    assert texts(do(store.delete_oldest_messages("a", 1))) == ["Three"]
    assert texts(do(store.get_messages("a", status=None))) == ["One", "Two", "Four"]


def test_a_history_is_replaced_or_deleted_by_key_and_status(store: AsyncDBChatStore) -> None:
    do(store.add_message("a", user("Zero")), store.set_messages("a", [user("One"), user("Two")]))
    do(store.archive_oldest_messages("a", 1))
    do(store.delete_messages("a", status=ARCHIVED))
    assert texts(do(store.get_messages("a", status=None))) == ["Two"]
    do(store.delete_messages("a"))
    assert do(store.get_messages("a", status=None)) == []


def test_what_is_read_is_no_part_of_what_is_kept(store: AsyncDBChatStore) -> None:
    do(store.add_message("a", given := user("One")))
    given.blocks[0].text = "spoilt"
    do(store.get_messages("a"))[0].blocks[0].text = "spoilt"
    assert texts(do(store.get_messages("a"))) == ["One"]


# -- in the process ------------------------------------------------------------------------------


def test_one_message_can_be_deleted_by_its_number() -> None:
    store = InProcessChatStore()
    run(store.add_messages("a", [user("One"), user("Two")]))
    deleted = run(store.delete_message("a", 1))
    assert deleted is not None
    assert deleted.content == "Two"
    assert run(store.delete_message("a", 1)) is None
    assert texts(run(store.get_messages("a"))) == ["One"]


def test_it_is_dumped_for_one_key_with_what_is_archived() -> None:
    store = InProcessChatStore()
    run(store.add_messages("a", [user("One"), user("Two")]))
    run(store.archive_oldest_messages("a", 1))
    run(store.add_message("b", user("Elsewhere")))
    again = load_chat_store(dump_chat_store(store, "a"), "a")
    assert texts(run(again.get_messages("a"))) == ["Two"]
    assert texts(run(again.get_messages("a", status=None))) == ["One", "Two"]
    assert run(again.get_keys()) == ["a"]
    assert store.class_name() == "InProcessChatStore"


# -- in a file ------------------------------------------------------------------------------------


def test_a_writer_waits_for_another_process_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.db"

    def open_it() -> AsyncDBChatStore:
        return open_chat_store(async_database_uri=f"sqlite+aiosqlite:///{path}")

    store = open_it()
    do(store.add_message("a", user("One")))
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.execute("BEGIN IMMEDIATE")
    # A reader need not wait.
    assert texts(do(store.get_messages("a"))) == ["One"]
    with monkeypatch.context() as patch:
        patch.setattr(chat_store, "SQLITE_TIMEOUT", 0.1)
        with pytest.raises(OperationalError, match="locked"):
            do(open_it().add_message("a", user("Lost")))
    threading.Timer(0.5, other.rollback).start()
    do(store.add_message("a", user("Two")))
    assert texts(do(store.get_messages("a"))) == ["One", "Two"]
    other.close()


# -- which one -----------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", [None, "sqlite+aiosqlite:///:memory:", "sqlite+aiosqlite://"])
def test_a_database_in_memory_is_kept_in_the_process(uri: str | None) -> None:
    assert isinstance(open_chat_store(async_database_uri=uri), InProcessChatStore)


def test_a_store_of_the_callers_own_is_taken() -> None:
    own = InProcessChatStore()
    assert open_chat_store(chat_store=own) is own


def test_an_engine_of_the_callers_own_is_used_and_found_again(tmp_path: Path) -> None:
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    store = open_chat_store(
        async_engine=create_async_engine(uri, poolclass=NullPool), table_name="t"
    )
    do(store.add_message("a", user("One")))
    again = load_chat_store(dump_chat_store(store, "a"), "a")
    assert texts(do(again.get_messages("a"))) == ["One"]


def test_a_store_of_another_kind_does_not_travel_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    methods = dict.fromkeys(AsyncDBChatStore.__abstractmethods__, lambda self: None)
    other = type("Other", (AsyncDBChatStore,), methods)()
    assert dump_chat_store(other, "a") == {"messages": []}
    assert "A Other is not serialised" in caplog.text
