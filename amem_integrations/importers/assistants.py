"""Chats with assistants: the exports of ChatGPT and Claude, and messages as APIs have them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

from amem_integrations.admin.lines import read_json
from amem_integrations.errors import InvalidInputError
from amem_integrations.importers.archive import Archive
from amem_integrations.importers.items import (
    Entry,
    Item,
    Keys,
    LeftOut,
    dated,
    joined_text,
    moment,
    read_each,
)

USER, ASSISTANT = "user", "assistant"
_ROLES = {USER: USER, "human": USER, ASSISTANT: ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT}
_TIMES = (
    *("timestamp", "created_at", "create_time", "createdAt"),
    *("occurred_at", "time", "date", "ts"),
)
_SESSIONS = ("session", "session_id", "conversation_id", "thread_id", "chat_id")
_LISTS = ("messages", "conversations", "results", "memories", "items", "data")
_OTHER_ROLES = LeftOut("messages of tools and systems")
_NO_TEXT = LeftOut("messages without text")


def conversations(archive: Archive) -> list[str]:
    """The files of an assistant's export; big ones come in several."""
    return archive.find("conversations.json", "conversations-*.json") or [*archive.names][:1]


def read_chatgpt(archive: Archive) -> Iterator[Entry]:
    """ChatGPT's `conversations.json`: of each conversation the branch that was open last."""
    for name in conversations(archive):
        chats = _list(archive.json(name), name)
        # The newest comes first, and what corrects something comes after it.
        chats.sort(key=partial(_time, name="create_time"))
        yield from read_each(chats, _chatgpt_turns, f"{name}, conversation")


def _time(chat: Any, name: str) -> float:
    try:
        return dated(moment(chat[name]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return dated(None)


def _chatgpt_turns(chat: Any) -> Iterator[Entry]:
    id, nodes = str(chat.get("conversation_id") or chat["id"]), chat["mapping"]
    branch: dict[str, Any] = {}
    at = chat.get("current_node") or next(reversed(nodes), None)
    while at is not None and at not in branch:
        branch[at] = nodes[at]
        at = nodes[at].get("parent")
    session = f"chatgpt/{id}"
    metadata = _titled(chat.get("title"))
    messages = [node["message"] for node in reversed(branch.values()) if node.get("message")]
    return read_each(
        messages, lambda message: _chatgpt_turn(message, session, metadata), f"{id}, message"
    )


def _chatgpt_turn(message: Any, session: str, metadata: dict[str, Any]) -> Entry:
    about: dict[str, Any] = message.get("metadata") or {}
    role = message["author"]["role"]
    hidden = about.get("is_visually_hidden_from_conversation")
    if role not in (USER, ASSISTANT) or hidden or message.get("recipient", "all") != "all":
        return _OTHER_ROLES
    content = message["content"]
    if content.get("content_type") not in ("text", "multimodal_text"):
        return _OTHER_ROLES
    time = moment(message.get("create_time"))
    return _turn(joined_text(content), role, session, str(message["id"]), time, metadata)


def read_claude(archive: Archive) -> Iterator[Entry]:
    """Claude's `conversations.json`."""
    for name in conversations(archive):
        chats = _list(archive.json(name), name)
        chats.sort(key=partial(_time, name="created_at"))
        yield from read_each(chats, _claude_turns, f"{name}, conversation")


def _claude_turns(chat: Any) -> Iterator[Entry]:
    id = str(chat["uuid"])
    session, metadata = f"claude/{id}", _titled(chat.get("name"))

    def turn(message: Any) -> Entry:
        parts = [part for part in message.get("content") or () if part.get("type") == "text"]
        text = joined_text(parts) or joined_text(message.get("text"))
        role = _ROLES[message["sender"]]
        time = moment(message.get("created_at"))
        return _turn(text, role, session, str(message["uuid"]), time, metadata)

    return read_each(chat["chat_messages"], turn, f"{id}, message")


def read_messages(archive: Archive) -> Iterator[Entry]:
    """Messages with role and content, one a line or in one list, or lists of them."""
    keys = Keys()
    for name in archive.names:
        where = f"{name}, {'line' if name.lower().endswith(('.jsonl', '.ndjson')) else 'message'}"
        yield from read_each(
            json_values(archive, name), lambda value: _messages(value, keys, None), where
        )


def json_values(archive: Archive, name: str) -> Iterator[Any]:
    """The values of a file of JSON lines, or those of the list that a file of JSON is.

    A line that is not JSON is an error in the place of a value.
    """
    if name.lower().endswith((".jsonl", ".ndjson")):
        for line in archive.lines(name):
            if line.strip():
                try:
                    yield read_json(line)
                except InvalidInputError as error:
                    yield error
        return
    document = archive.json(name)
    values = as_list(document)
    if values is None and isinstance(document, dict) and "role" not in document:
        lists = (as_list(cast("dict[str, Any]", document).get(key)) for key in _LISTS)
        values = next((inner for inner in lists if inner is not None), None)
    yield from [document] if values is None else values


def as_list(value: Any) -> list[Any] | None:
    """The value, if it is a list."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def _messages(value: Any, keys: Keys, session: str | None) -> Iterable[Entry]:
    """The turn that a message is, or those of a list of messages."""
    if isinstance(value, Exception):
        raise value
    inner = as_list(value)
    named: Any = None
    if inner is None and (inner := as_list(value.get("messages"))) is not None:
        named = _first(value, *_SESSIONS, "id")
    if inner is not None:
        own = str(named or session or keys.of("chat"))
        return read_each(inner, lambda each: _messages(each, keys, own), "message")
    # LangChain's are {"type": "human", "data": {…}}.
    data: Any = value.get("data")
    message: dict[str, Any] = {**value, **data} if isinstance(data, dict) else value
    said = message.get("role") or message["type"]
    role = _ROLES.get(said)
    if role is None:
        return [_OTHER_ROLES]
    text, time = joined_text(message["content"]), moment(_first(message, *_TIMES))
    session = str(_first(message, *_SESSIONS) or session or "messages")
    id = _first(message, "id", "message_id") or keys.of(session, role, time, text)
    return [_turn(text, role, session, str(id), time, {}, message.get("name"))]


def _turn(
    text: str,
    role: str,
    session: str,
    id: str,
    time: Any,
    metadata: dict[str, Any],
    speaker: str | None = None,
) -> Entry:
    if not text.strip():
        return _NO_TEXT
    return Item(
        content=text,
        key=f"{session}/{id}",
        source=role,
        speaker=speaker or role,
        session=session,
        occurred_at=time,
        metadata=metadata,
    )


def _first(value: Mapping[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _titled(title: Any) -> dict[str, Any]:
    return {"title": title} if isinstance(title, str) and title else {}


def _list(value: Any, name: str) -> list[Any]:
    if (found := as_list(value)) is None:
        raise InvalidInputError(f"{name} is not a list, as an export has it.")
    return found
