"""Chats between people: the exports of WhatsApp, Telegram and Slack.

A conversation of a day is a session: such chats go on for years.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from amem_integrations.importers.archive import Archive
from amem_integrations.importers.items import (
    Entry,
    Item,
    Keys,
    LeftOut,
    joined_text,
    moment,
    read_each,
)

_MEDIA = LeftOut("media without text")
_NOTICE = LeftOut("notices")


def _message(
    text: str, chat: str, id: str, speaker: str | None, time: datetime, metadata: dict[str, Any]
) -> Entry:
    if not text.strip():
        return _MEDIA
    return Item(
        content=text,
        key=f"{chat}/{id}",
        speaker=speaker,
        session=f"{chat}/{time:%Y-%m-%d}",
        occurred_at=time,
        metadata=metadata,
    )


# -- WhatsApp --------------------------------------------------------------------------------

_MARKS = "[\u200e\u200f\u202a-\u202e]{0,8}"
_STAMP = re.compile(
    rf"{_MARKS}\[?(\d{{1,4}})([./-])(\d{{1,2}})\2(\d{{1,4}}),?\s"
    r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s?([AaPp])\.?\s?[Mm]\.?)?(?:\]\s?|\s-\s)"
)
_ATTACHED = re.compile(
    rf"{_MARKS}(?:<[^<>]{{1,200}}>|.{{1,200}}\((?:file attached|Datei angehängt|archivo adjunto|"
    r"fichier joint|file allegato|arquivo anexado)\))\s*"
)
_EDITED = re.compile("\u200e?<[^<>]{1,60}>\\s*$")
_DELETED = re.compile(
    r"(?:You deleted this message|This message was deleted|Du hast diese Nachricht gelöscht|"
    r"Diese Nachricht wurde gelöscht|null)\.?"
)


def is_whatsapp(head: str) -> bool:
    """Whether a text begins with the time of a message."""
    return _STAMP.match(head.lstrip("\ufeff")) is not None


def read_whatsapp(archive: Archive) -> Iterator[Entry]:
    """WhatsApp's text of a chat, which tells times without a zone; they are taken as UTC."""
    for name in archive.find("*.txt"):
        own = archive.title if PurePosixPath(name).stem == "_chat" else PurePosixPath(name).stem
        chat = f"whatsapp/{re.sub(r'^WhatsApp .*?(?:with|mit|con|avec|com|-) ', '', own).strip()}"
        order, keys = _date_order(archive.lines(name)), Keys()
        yield from read_each(
            _whatsapp_messages(archive.lines(name)),
            partial(_whatsapp_message, order=order, keys=keys, chat=chat),
            f"{name}, message",
        )


def _whatsapp_messages(lines: Iterable[str]) -> Iterator[tuple[re.Match[str], str]]:
    """The stamp of each message and its text, of one line or several."""
    stamp: re.Match[str] | None = None
    text: list[str] = []
    for line in lines:
        if found := _STAMP.match(line):
            if stamp is not None:
                yield stamp, "\n".join(text)
            stamp, text = found, [line[found.end() :]]
        elif stamp is not None:
            text.append(line)
    if stamp is not None:
        yield stamp, "\n".join(text)


def _whatsapp_message(
    given: tuple[re.Match[str], str], *, order: str, keys: Keys, chat: str
) -> Entry:
    stamp, text = given
    time = _whatsapp_time(stamp, order)
    speaker, colon, said = text.partition(": ")
    if not colon or "\n" in speaker or (said.startswith("\u200e") and not _ATTACHED.match(said)):
        return _NOTICE
    # A caption stands below what it is about.
    said = _EDITED.sub("", _ATTACHED.sub("", said, count=1) if _ATTACHED.match(said) else said)
    if _DELETED.fullmatch(said.strip()):
        return _NOTICE
    name = speaker.strip("~\u202f\u200e\xa0 ")
    return _message(said.strip(), chat, keys.of(time, name, said), name, time, {})


def _date_order(lines: Iterable[str]) -> str:
    """Which of day, month and year comes first: the order in which the dates go on in time."""
    stamps = [found for line in lines if (found := _STAMP.match(line))]
    if not stamps or len(stamps[0][1]) == 4:
        return "ymd"
    american = any(stamp[8] for stamp in stamps) and all(stamp[2] == "/" for stamp in stamps)
    best, least = "dmy", float("inf")
    for order in ("mdy", "dmy") if american else ("dmy", "mdy"):
        wrong, last = 0.0, datetime.min.replace(tzinfo=UTC)
        for stamp in stamps:
            try:
                time = _whatsapp_time(stamp, order)
                # Messages that were sent late are a little behind.
                wrong += (last - time).days >= 1
                last = time
            except ValueError:
                wrong += 2
        if wrong < least:
            best, least = order, wrong
    return best


def _whatsapp_time(stamp: re.Match[str], order: str) -> datetime:
    numbers = dict(zip(order, (int(stamp[1]), int(stamp[3]), int(stamp[4])), strict=True))
    year = numbers["y"] + 2000 if numbers["y"] < 100 else numbers["y"]
    hour = int(stamp[5])
    if stamp[8]:
        hour = hour % 12 + 12 * (stamp[8] in "Pp")
    return datetime(
        year, numbers["m"], numbers["d"], hour, int(stamp[6]), int(stamp[7] or 0), tzinfo=UTC
    )


# -- Telegram --------------------------------------------------------------------------------


def read_telegram(archive: Archive) -> Iterator[Entry]:
    """Telegram's `result.json`, of one chat or of all."""
    for name in archive.find("result*.json") or archive.names:
        document = archive.json(name)
        chats = document["chats"]["list"] if "chats" in document else [document]
        yield from read_each(chats, _telegram_chat, f"{name}, chat")


def _telegram_chat(chat: Any) -> Iterator[Entry]:
    id = f"telegram/{chat['id']}"
    metadata = {"title": str(chat["name"])} if chat.get("name") else {}

    def message(given: Any) -> Entry:
        if given.get("type") != "message":
            return _NOTICE
        text = given.get("text")
        parts = [text] if isinstance(text, str) else text or []
        said = "".join(joined_text(part) for part in parts)
        time = moment(given.get("date_unixtime") or given["date"])
        if time is None:
            raise ValueError("no date")
        return _message(said, id, str(given["id"]), given.get("from"), time, metadata)

    return read_each(chat["messages"], message, f"{chat.get('name')}, message")


# -- Slack -----------------------------------------------------------------------------------

_REFERENCE = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_SAID = (None, "thread_broadcast", "me_message", "file_share", "reply_broadcast")
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json"


def slack_days(archive: Archive) -> list[str]:
    """The files of Slack's messages, one for each day and channel, in the order of days."""
    return sorted(archive.find(f"*/{_DAY}"), key=lambda name: (PurePosixPath(name).name, name))


def read_slack(archive: Archive) -> Iterator[Entry]:
    """Slack's export: folders of channels, with a file for each day."""
    names: dict[str, str] = {}
    for file in archive.find("users.json")[:1]:
        for user in archive.json(file):
            profile: dict[str, Any] = user.get("profile") or {}
            known = (profile.get("display_name"), profile.get("real_name"), user.get("name"))
            names[str(user.get("id"))] = next((name for name in known if name), str(user.get("id")))
    for name in slack_days(archive):
        channel = PurePosixPath(name).parent.name
        messages = archive.json(name)
        yield from read_each(
            messages, partial(_slack_message, channel=channel, names=names), f"{name}, message"
        )


def _slack_message(given: Any, *, channel: str, names: Mapping[str, str]) -> Entry:
    if given.get("type") != "message" or given.get("subtype") not in _SAID:
        return _NOTICE
    time = moment(given["ts"])
    if time is None:
        raise ValueError("no time")
    user = str(given.get("user") or "")
    profile: dict[str, Any] = given.get("user_profile") or {}
    speaker = names.get(user) or profile.get("real_name") or user or None

    def referred(found: re.Match[str]) -> str:
        mark, target, label = found.groups()
        return f"@{label or names.get(target, target)}" if mark == "@" else mark + (label or target)

    text = html.unescape(_REFERENCE.sub(referred, given.get("text") or ""))
    metadata: dict[str, Any] = {"channel": channel}
    if given.get("thread_ts") not in (None, given["ts"]):
        metadata["thread"] = str(given["thread_ts"])
    return _message(text, f"slack/{channel}", str(given["ts"]), speaker, time, metadata)
