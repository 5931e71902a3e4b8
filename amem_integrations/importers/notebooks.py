"""Notes that people write: Markdown diaries, and Obsidian's vaults with their links."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from amem_integrations.analysts.date_words import MONTHS
from amem_integrations.errors import InvalidInputError
from amem_integrations.importers.archive import Archive
from amem_integrations.importers.items import Entry, Item, Keys, LeftOut, broken, dated

MAX_NOTE_BYTES = 16 * 1024**2
_ENDINGS = ("*.md", "*.markdown")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+)")
_YEAR_FIRST = re.compile(r"\b(\d{4})[-./](\d{1,2})[-./](\d{1,2})\b")
_DAY_FIRST = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b")
_NAMED = re.compile(
    r"\b(?:(?P<d>\d{1,2})(?:st|nd|rd|th|\.|er)?\s+(?:of\s+|de\s+)?(?P<m>[a-z]{3,10})\.?"
    r"|(?P<m2>[a-z]{3,10})\.?\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?),?\s+(?:de\s+)?(?P<y>\d{4})\b"
)
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
_NOTHING = LeftOut("entries without text")


def date_in(heading: str) -> datetime | None:
    """The date that a heading or a file name says, with the time if it has one, or None.

    As in 2026-03-12, 12.3.2026, 12 March 2026 or March 12, 2026, in English, German, Spanish and
    French. "3/12/2026" is left alone, as nobody knows which is the day.
    """
    text = unicodedata.normalize("NFKD", heading[:200].casefold())
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    day: tuple[int, int, int] | None = None
    if found := _YEAR_FIRST.search(text):
        day = int(found[1]), int(found[2]), int(found[3])
    elif found := _DAY_FIRST.search(text):
        day = int(found[3]), int(found[2]), int(found[1])
    else:
        for found in _NAMED.finditer(text):
            if month := MONTHS.get(found["m"] or found["m2"]):
                day = int(found["y"]), month, int(found["d"] or found["d2"])
                break
    if day is None:
        return None
    clock = _CLOCK.search(text)
    hour, minute = (int(clock[1]), int(clock[2])) if clock else (0, 0)
    try:
        return datetime(*day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None


# -- diary -----------------------------------------------------------------------------------


def read_diary(archive: Archive) -> Iterator[Entry]:
    """A Markdown diary: a heading with a date begins an entry, and each entry is a note.

    What stands before the first is one too. A file without dates is one note, of the date that
    its name has.
    """
    keys = Keys()
    for name in archive.find(*_ENDINGS, "*.txt"):
        changed = archive.changed_at(name)
        entries = list(_diary_entries(archive.lines(name), date_in(PurePosixPath(name).stem)))
        if all(time is not None for time, _, _ in entries):
            # The newest may stand on top.
            entries.sort(key=lambda entry: dated(entry[0]))
        for time, heading, body in entries:
            if body:
                content = f"{heading}\n\n{body}" if heading else body
                key = f"diary/{keys.of(time.date() if time else None, content)}"
                yield Item(content, key, occurred_at=time, changed_at=changed)
            elif heading:
                yield _NOTHING


def _diary_entries(
    lines: Iterable[str], time: datetime | None
) -> Iterator[tuple[datetime | None, str, str]]:
    """The time, heading and text of each entry; time: of what stands before the first heading."""
    heading, body = "", list[str]()
    for line in lines:
        title = _HEADING.fullmatch(line)
        found = date_in(title[1]) if title else None
        if found is None:
            body.append(line)
            continue
        yield time, heading, "\n".join(body).strip()
        time, heading, body = found, line.strip(), []
    yield time, heading, "\n".join(body).strip()


# -- Obsidian --------------------------------------------------------------------------------

_FRONT = re.compile(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|$)", re.DOTALL)
_FIELD = re.compile(
    r"^(date|created|created_at|tags?|aliases):[ \t]*(.*(?:\n[ \t]*-[ \t].*)*)", re.MULTILINE
)
_LINK = re.compile(r"\[\[([^\[\]|#^\n]{1,400})(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_TAG = re.compile(r"(?:^|(?<=\s))#([^\W\d][\w/-]*)")


@dataclass(frozen=True, slots=True)
class _Page:
    """A file of a vault, before its links are known to lead somewhere."""

    name: str
    text: str
    fields: dict[str, list[str]]
    changed: datetime

    @property
    def title(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def time(self) -> datetime | None:
        said = (*self.fields.get("date", ()), *self.fields.get("created", ()), self.title)
        return next((time for text in said if (time := date_in(text))), None)


def vault_pages(archive: Archive) -> list[str]:
    """The notes of a vault."""
    return archive.find(*_ENDINGS)


def read_vault(archive: Archive) -> Iterator[Entry]:
    """An Obsidian vault, or any folder of Markdown files: each is a note.

    `[[links]]` become links between the notes; those that lead nowhere are left out. A note begins
    with its title.
    """
    names = sorted(vault_pages(archive), key=lambda name: (archive.changed_at(name), name))
    targets = _targets(archive, names)
    for name in names:
        try:
            page = _page(archive, name)
        except (OSError, InvalidInputError) as error:
            yield broken(name, error)
            continue
        if not page.text.strip():
            yield _NOTHING
            continue
        yield _note(page, targets)


def _note(page: _Page, targets: dict[str, str]) -> Item:
    prose = _CODE.sub(" ", page.text)
    links: dict[str, str] = {}
    for found in _LINK.finditer(prose):
        target = targets.get(_folded(found[1]))
        if target is not None and target != page.name:
            links.setdefault(f"vault/{target}", found[1].strip())
    tags = dict.fromkeys((*page.fields.get("tags", ()), *_TAG.findall(prose)))
    metadata: dict[str, Any] = {"file": page.name}
    if tags:
        metadata["tags"] = list(tags)
    text = page.text.strip()
    begins = _HEADING.match(text)
    if begins is None or _folded(begins[1]) != _folded(page.title):
        text = f"# {page.title}\n\n{text}"
    return Item(
        content=text,
        key=f"vault/{page.name}",
        occurred_at=page.time,
        changed_at=page.changed,
        metadata=metadata,
        links=links,
    )


def _targets(archive: Archive, names: Iterable[str]) -> dict[str, str]:
    """The file that each name in a link means: by path, by title, or by an alias."""
    paths: dict[str, str] = {}
    titles: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (name.count("/"), name)):
        path = PurePosixPath(name)
        paths[_folded(path.with_suffix("").as_posix())] = name
        titles.setdefault(_folded(path.stem), name)
        front = _FRONT.match(archive.head(name).replace("\r\n", "\n"))
        for alias in _fields(front[1] or "" if front else "").get("aliases", ()):
            aliases.setdefault(_folded(alias), name)
    return aliases | titles | paths


def _page(archive: Archive, name: str) -> _Page:
    with archive.open(name) as file:
        data = file.read(MAX_NOTE_BYTES + 1)
    if len(data) > MAX_NOTE_BYTES:
        raise InvalidInputError(f"it has more than {MAX_NOTE_BYTES:,} bytes")
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    front = _FRONT.match(text)
    fields = _fields(front[1] or "") if front else {}
    return _Page(name, text[front.end() :] if front else text, fields, archive.changed_at(name))


def _fields(front: str) -> dict[str, list[str]]:
    """Some fields of a note's front matter, each as a list; the rest of YAML is not read."""
    fields: dict[str, list[str]] = {}
    for found in _FIELD.finditer(front):
        name = {"tag": "tags", "created_at": "created"}.get(found[1], found[1])
        given = re.split(r"(?:^|\n)[ \t]*-[ \t]|,", found[2].strip().strip("[]"))
        values = (value.strip().strip("\"'#[]") for value in given)
        fields[name] = [value for value in values if value]
    return fields


def _folded(name: str) -> str:
    text = unicodedata.normalize("NFC", name.strip().casefold())
    return text.removeprefix("./").removesuffix(".md")
