"""What each page shows. Plain functions: they are called in threads, so no loop waits for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from amem_integrations.core.filters import EVERYTHING, Condition, Range, both, match
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.json_value import parse_object
from amem_integrations.core.namespace import Namespace, decode
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import InvalidInputError, ModelError, NoteNotFoundError
from amem_integrations.memory import operations
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.plots.graph import graph_data
from amem_integrations.plots.groups import BYS
from amem_integrations.plots.records import notes_of
from amem_integrations.plots.trajectories import trajectory_data
from amem_integrations.revisions.entry import Entry
from amem_integrations.stores.codec import micros, note_from, within
from amem_integrations.stores.read import load, recent
from amem_integrations.view.addresses import (
    note_page,
    read_choice,
    read_cursor,
    read_namespace,
    read_number,
)
from amem_integrations.view.graph import WIDTH, draw_graph
from amem_integrations.view.html import shares_of

NAMESPACES, NOTES, HITS, DOTS = 100, 50, 10, 150
"""How many of each a page shows, unless it is parameters for more."""
MOST_HITS, MOST_HOPS, MOST_DOTS, MOST_PAGES = 100, 4, 1000, 1_000_000
TEXT, LINKS, VERSIONS = 4000, 40, 30
"""Of a note: characters of its text, links each way, versions; `whole` shows all."""
_STATUSES = ("", *map(str, Status))
_ALL = 10**9


class Pages:
    """The pages of one memory, each a method from a request to a response."""

    def __init__(self, memory: AgenticMemory, environment: Environment) -> None:
        self._memory = memory
        self._environment = environment

    def page(
        self, template: str, shown: Mapping[str, Any], status: int = 200, **headers: str
    ) -> Response:
        # What is not valid Unicode becomes "?".
        text = self._environment.get_template(template).render(shown)
        content = text.encode("utf-8", "replace")
        return Response(content, status, headers, "text/html; charset=utf-8")

    def home(self, request: Request) -> Response:
        """Every namespace."""
        parameters = request.query_params
        number = read_number(parameters, "page", 1, 1, MOST_PAGES)
        containing = parameters.get("containing", "")
        counts = self._memory.perform(lambda _, io: count_namespaces(io))
        wanted = containing.casefold()
        listed = [
            entry for entry in counts if any(wanted in label.casefold() for label in entry[0])
        ]
        start = (number - 1) * NAMESPACES
        shown = {
            "namespaces": listed[start : start + NAMESPACES],
            "found": len(listed),
            "total": len(counts),
            "notes": sum(count for _, count in counts),
            "containing": containing,
            "number": number,
            "pages": max(1, -(-len(listed) // NAMESPACES)),
        }
        return self.page("home.html", shown)

    def namespace(self, request: Request) -> Response:
        """The notes of a namespace, the newest first."""
        parameters = request.query_params
        home = read_namespace(parameters)
        status = read_choice(parameters, "status", _STATUSES)
        before, after = read_cursor(parameters, "before"), read_cursor(parameters, "after")
        where = match("status", status) if status else EVERYTHING
        counts = self._memory.perform(lambda _, io: operations.counts(io, home))
        found = self._memory.perform(lambda _, io: list_notes(io, home, where, before, after))
        shown = {
            "counts": dict(sorted(counts.items())),
            "status": status,
            "found": found,
            "first": before is None and after is None,
        }
        return self.page("namespace.html", _within(home, "notes") | shown)

    def search(self, request: Request) -> Response:
        """What a search finds, and why."""
        parameters = request.query_params
        home = read_namespace(parameters)
        text = parameters.get("q", "")
        shown: dict[str, Any] = _within(home, "search") | {
            "q": text,
            "k": parameters.get("k", ""),
            "hops": parameters.get("hops", ""),
            "filter": parameters.get("filter", ""),
            "most": MOST_HITS,
            "problem": "",
            "hits": None,
        }
        try:
            k = read_number(parameters, "k", HITS, 1, MOST_HITS)
            hops = read_number(parameters, "hops", 1, 0, MOST_HOPS)
            filter = parse_object(shown["filter"].strip() or None, "filter")
            if text.strip():
                hits = self._memory.search(text, namespace=home, k=k, hops=hops, filter=filter)
                shown |= self._found(home, hits)
                shown |= {"k": k, "hops": hops, "more": min(MOST_HITS, 2 * k)}
        except (InvalidInputError, ModelError) as error:
            status = 400 if isinstance(error, InvalidInputError) else 503
            return self.page("search.html", shown | {"problem": str(error)}, status)
        return self.page("search.html", shown)

    def _found(self, home: Namespace, hits: Sequence[Hit]) -> dict[str, Any]:
        sources = {hit.via.other(hit.note.id) for hit in hits if hit.via is not None}
        others = {hit.note.id: hit.note for hit in hits}
        missing = sources - others.keys()
        others |= self._memory.perform(lambda _, io: load(io, missing, home))
        return {
            "hits": list(zip(hits, shares_of(hits), strict=True)),
            "others": others,
            "count": self._memory.count(home),
        }

    def note(self, request: Request) -> Response:
        """One note: its text, what was understood, its links both ways, how it came about."""
        parameters = request.query_params
        home = read_namespace(parameters)
        id = request.path_params["id"]
        whole = read_choice(parameters, "whole", ("", "1")) == "1"
        note = self._memory.get(id, namespace=home)
        if note is None:
            raise NoteNotFoundError(
                f"There is no note {id} in namespace {'/'.join(home)}; "
                "it may have been forgotten, or live in another namespace."
            )
        if note.id != id:
            return RedirectResponse(note_page(note, home, whole=parameters.get("whole")), 302)
        revisions = tuple(self._memory.history(note))
        named = Entry(note, revisions).references | {link.source for link in note.incoming}
        others = self._memory.perform(lambda _, io: load(io, named - {note.id}, home))
        texts = {other.id: other.content for other in others.values()}
        shown = {
            "note": note,
            "others": others,
            "whole": whole,
            "text": note.content if whole else note.content[:TEXT],
            "limit": _ALL if whole else LINKS,
            "path": trajectory_data(note, revisions, texts, limit=_ALL if whole else VERSIONS),
        }
        return self.page("note.html", _within(home, "note") | shown)

    def graph(self, request: Request) -> Response:
        """The best linked notes of a namespace, and their links."""
        parameters = request.query_params
        home = read_namespace(parameters)
        by = read_choice(parameters, "by", BYS)
        limit = read_number(parameters, "limit", DOTS, 1, MOST_DOTS)
        notes = self._memory.perform(lambda _, io: notes_of(io, home))
        drawn = draw_graph(graph_data(notes, by=by, limit=limit))
        shown = {"drawn": drawn, "width": WIDTH, "by": by, "bys": BYS, "limit": limit}
        return self.page("graph.html", _within(home, "graph") | shown)

    def health(self, request: Request) -> Response:
        """The figures of a namespace, and which of them to worry about."""
        home = read_namespace(request.query_params)
        return self.page(
            "health.html", _within(home, "health") | {"report": self._memory.admin.health(home)}
        )


def _within(home: Namespace, current: str) -> dict[str, Any]:
    """What every page of a namespace shows."""
    return {"ns": home, "current": current, "q": "", "k": "", "hops": "", "filter": ""}


@dataclass(frozen=True, slots=True)
class NotePage:
    """Notes, the newest first. newer, older: where the pages beside it are; None at an end."""

    notes: list[Note]
    newer: int | None
    older: int | None


async def count_namespaces(io: IO) -> list[tuple[Namespace, int]]:
    """Every namespace with how many notes it holds, in the order of labels."""
    where = match("kind", "note")
    counts = await io.engine.facet("ns", where, limit=await io.engine.count(where))
    return sorted((decode(name), count) for name, count in counts.items())


async def list_notes(
    io: IO, namespace: Namespace, where: Condition, before: int | None, after: int | None
) -> NotePage:
    """A page of the notes that meet `where`.

    The newest ones, or those made just before or just after a moment.
    """
    if after is not None:
        points = await io.engine.scroll(
            within(namespace, both(where, Range("created_at", gt=after))),
            limit=NOTES + 1,
            order_by="created_at",
        )
        notes = [note_from(point) for point in points[:NOTES]][::-1]
        more_newer, more_older = len(points) > NOTES, True
    else:
        past = EVERYTHING if before is None else Range("created_at", lt=before)
        notes = await recent(io, namespace, limit=NOTES + 1, where=both(where, past))
        more_newer, more_older = before is not None, len(notes) > NOTES
        notes = notes[:NOTES]
    return NotePage(
        notes,
        micros(notes[0].created_at) if notes and more_newer else None,
        micros(notes[-1].created_at) if notes and more_older else None,
    )
