"""A note and everything that ever happened to it, told as the package would."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from amem_integrations.core.note import Link, Note, Revision, Status, make_note
from amem_integrations.revisions.change import revised
from amem_integrations.revisions.replay import without
from amem_integrations.stores.codec import PAYLOAD, link_from

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FIELDS = ("content", "keywords", "tags", "context")


@dataclass
class Story:
    """A note and everything that ever happened to it."""

    note: Note = field(
        default_factory=lambda: make_note("The cache is full", namespace="n", now=NOW, key="k")
    )
    chain: list[Revision] = field(default_factory=list[Revision])

    def _then(
        self, kind: str, cause: str, sources: Sequence[str] = (), reason: str = "", **after: Any
    ) -> None:
        now = NOW + timedelta(seconds=self.note.version)
        changed = replace(self.note, **after)
        self.note = revised(self.note, changed, kind, cause, now, "x", tuple(sources), reason)
        assert self.note.revision is not None
        self.chain.append(self.note.revision)

    def formed(
        self,
        *keywords: str,
        context: str = "On memory.",
        tags: Sequence[str] = ("talk",),
        links: Sequence[str] = (),
        sources: Sequence[str] = (),
    ) -> None:
        made = tuple(Link(self.note.id, to, f"both like {to}", NOW) for to in links)
        self._then(
            "formed",
            self.note.id,
            sources,
            keywords=keywords or ("cache",),
            tags=tuple(tags),
            context=context,
            links=made,
            status=Status.FORMED,
        )

    def evolved(
        self, cause: str, *, sources: Sequence[str] = (), reason: str = "", **after: Any
    ) -> None:
        self._then("evolved", cause, sources, reason, **after)

    def updated(self, content: str) -> None:
        blank: dict[str, Any] = {"keywords": (), "tags": (), "context": "", "links": ()}
        self._then("updated", self.note.id, content=content, status=Status.RAW, **blank)

    def reverted(self, to_version: int | None = None) -> None:
        """As a caller does it: the last change, or all after a version."""
        newest = [each for each in reversed(self.chain) if each.changes]
        undone = newest[:1] if to_version is None else [r for r in newest if r.version > to_version]
        after: dict[str, Any] = {}
        for revision in undone:
            after |= {name: change.before for name, change in revision.changes.items()}
        for name in {"keywords", "tags"} & after.keys():
            after[name] = tuple(after[name])
        if "links" in after:
            after["links"] = tuple(link_from(self.note.id, link) for link in after["links"])
        if "status" in after:
            raw = after["status"] == Status.RAW
            after["status"] = Status.PLAIN if raw else Status(after["status"])
        self._then("reverted", self.note.id, **after)

    def without(self, gone: str) -> "Story":
        return Story(*without(self.note, self.chain, gone))

    def text(self) -> str:
        """Everything that is stored of it."""
        note = self.note
        return json.dumps(
            [
                *(getattr(note, name) for name in FIELDS),
                *([link.to, link.reason] for link in note.links),
                *(PAYLOAD.write_record(each) for each in self.chain),
            ],
            ensure_ascii=False,
        )
