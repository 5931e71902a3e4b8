"""The kinds of foreign files that can be imported, how they are told apart, and how they are read.

A new kind is a function from an `Archive` to items, and a line of `KINDS`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from amem_integrations.core.note import make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.importers.archive import Archive
from amem_integrations.importers.assistants import (
    conversations,
    read_chatgpt,
    read_claude,
    read_messages,
)
from amem_integrations.importers.items import BROKEN, Entry, Item, LeftOut, broken
from amem_integrations.importers.memories import read_mem0, read_store
from amem_integrations.importers.messengers import (
    is_whatsapp,
    read_slack,
    read_telegram,
    read_whatsapp,
    slack_days,
)
from amem_integrations.importers.notebooks import read_diary, read_vault, vault_pages


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        title: what it is, in words.
        read: gives its entries, in the order of time.
        matches: whether an archive is of this kind, by its names and how its files begin.
        is_chat: whether its items are turns of conversations; otherwise each is a note.
    """

    title: str
    read: Callable[[Archive], Iterator[Entry]]
    matches: Callable[[Archive], bool]
    is_chat: bool = True


def _has_keys(*patterns: str) -> Callable[[Archive], bool]:
    """Whether the only file is JSON that has all of the keys near its beginning."""
    expressions = [re.compile(rf'"(?:{pattern})"\s*:') for pattern in patterns]

    def matches(archive: Archive) -> bool:
        names = archive.names
        if len(names) != 1 or not names[0].lower().endswith((".json", ".jsonl", ".ndjson")):
            return False
        head = archive.head(names[0])
        return all(expression.search(head) for expression in expressions)

    return matches


def _has_conversations(key: str) -> Callable[[Archive], bool]:
    def matches(archive: Archive) -> bool:
        names = conversations(archive)
        return bool(names) and names[0].endswith(".json") and key in archive.head(names[0])

    return matches


def _is_telegram(archive: Archive) -> bool:
    names = archive.find("result*.json") or list(archive.names) * (len(archive.names) == 1)
    keys = re.compile(r'"date_unixtime"|"(?:from_id|personal_information|frequent_contacts)"')
    return any(name.endswith(".json") and keys.search(archive.head(name)) for name in names)


def _is_whatsapp(archive: Archive) -> bool:
    return any(is_whatsapp(archive.head(name)) for name in archive.find("*.txt")[:1])


def _is_diary(archive: Archive) -> bool:
    return archive.path.is_file() and archive.path.suffix.lower() in (".md", ".markdown")


KINDS: dict[str, Kind] = {
    "chatgpt": Kind("a ChatGPT export", read_chatgpt, _has_conversations('"mapping"')),
    "claude": Kind("a Claude export", read_claude, _has_conversations('"chat_messages"')),
    "telegram": Kind("a Telegram export", read_telegram, _is_telegram),
    "slack": Kind("a Slack export", read_slack, lambda archive: bool(slack_days(archive))),
    "whatsapp": Kind("a WhatsApp chat", read_whatsapp, _is_whatsapp),
    "store": Kind(
        "items of a LangGraph store",
        read_store,
        _has_keys("namespace", "key", "value"),
        is_chat=False,
    ),
    "mem0": Kind("memories of mem0", read_mem0, _has_keys("memory"), is_chat=False),
    "messages": Kind(
        "messages with role and content",
        read_messages,
        _has_keys("role|type", "content"),
    ),
    "diary": Kind("a Markdown diary", read_diary, _is_diary, is_chat=False),
    "vault": Kind(
        "an Obsidian vault", read_vault, lambda archive: bool(vault_pages(archive)), is_chat=False
    ),
}
"""All kinds by name, in the order in which they are tried."""


def detect_kind(path: Path) -> str:
    """The name of the kind that a file, zip or folder is of.

    Raises InvalidInputError if it is of none.
    """
    with Archive(path) as archive:
        for name, kind in KINDS.items():
            if kind.matches(archive):
                return name
    known = ", ".join(f"{kind.title} ({name})" for name, kind in KINDS.items())
    raise InvalidInputError(
        f"{path} is none of what can be imported: notes that `amem export` wrote, {known}. "
        "If it is one of these, --kind says which. Nothing was imported."
    )


def read_items(path: Path, kind: str | None = None) -> Iterator[Entry]:
    """Yield what a file, zip or folder holds, in the order of time, and what is left out.

    Args:
        path: the file, zip or folder; nothing of it is changed.
        kind: a name in `KINDS`; None: whichever it is.

    Raises:
        InvalidInputError: the file as a whole cannot be read. A single entry that cannot be is
            yielded as `LeftOut`.

    Examples:
        >>> from pathlib import Path
        >>> from amem_integrations.importers.kinds import read_items
        >>> chat = "12/03/2026, 18:22 - Jonas: The boat is called Susie\\n"
        >>> _ = Path("WhatsApp Chat with Jonas.txt").write_text(chat)
        >>> [item] = read_items(Path("WhatsApp Chat with Jonas.txt"))
        >>> item.content, item.speaker, item.session
        ('The boat is called Susie', 'Jonas', 'whatsapp/Jonas/2026-03-12')
    """
    with Archive(path) as archive:
        found = KINDS[kind or detect_kind(path)]
        seen: Counter[str] = Counter()
        try:
            for entry in found.read(archive):
                if isinstance(entry, Item):
                    seen[entry.key] += 1
                    if seen[entry.key] > 1:
                        entry = LeftOut("entries that came before")
                    else:
                        entry = _checked(entry)
                yield entry
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidInputError(
                f"{path} is not {found.title}, or one of a form that is not known: {error!r}."
            ) from error


def _checked(item: Item) -> Entry:
    """The item, if it can be stored."""
    # Half an emoji, where a message was cut, is none; the rest of the message is.
    content = item.content.encode("utf-8", "replace").decode()
    item = replace(item, content=content)
    try:
        make_note(
            content,
            namespace="x",
            now=datetime.now(UTC),
            key=item.key,
            speaker=item.speaker,
            session=item.session,
            occurred_at=item.occurred_at,
            metadata=item.metadata,
        )
    except InvalidInputError as error:
        return broken(item.key[:100], error)
    return item


__all__ = ["BROKEN", "KINDS", "Kind", "detect_kind", "read_items"]
