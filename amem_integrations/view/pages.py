"""What each page shows. Plain functions: they are called in threads, so no loop waits for them."""

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from amem_integrations.core.filters import EVERYTHING, match
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Status
from amem_integrations.errors import InvalidInputError, ModelError
from amem_integrations.memory import operations
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.plots.graph import graph_data
from amem_integrations.plots.groups import BYS
from amem_integrations.plots.pictures import notes_of
from amem_integrations.plots.trajectories import trajectory_data
from amem_integrations.view import asking, reading
from amem_integrations.view.addresses import note_page, read_namespace
from amem_integrations.view.drawing import WIDTH, drawing
from amem_integrations.view.rendering import rendered
from amem_integrations.view.shares import shares

NAMESPACES, NOTES, HITS, DOTS = 100, 50, 10, 150
"""How many of each a page shows, unless it is asked for more."""
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
        content = rendered(self._environment, template, shown)
        return Response(content, status, headers, "text/html; charset=utf-8")

    def home(self, request: Request) -> Response:
        """Every namespace."""
        asked = request.query_params
        number = asking.number(asked, "page", 1, 1, MOST_PAGES)
        containing = asked.get("containing", "")
        held = self._memory.perform(lambda _, io: reading.namespaces(io))
        wanted = containing.casefold()
        listed = [each for each in held if any(wanted in label.casefold() for label in each[0])]
        start = (number - 1) * NAMESPACES
        shown = {
            "namespaces": listed[start : start + NAMESPACES],
            "found": len(listed),
            "total": len(held),
            "notes": sum(count for _, count in held),
            "containing": containing,
            "number": number,
            "pages": max(1, -(-len(listed) // NAMESPACES)),
        }
        return self.page("home.html", shown)

    def namespace(self, request: Request) -> Response:
        """The notes of a namespace, the newest first."""
        asked = request.query_params
        home = read_namespace(asked.get("ns"))
        status = asking.choice(asked, "status", _STATUSES)
        before, after = asking.moment(asked, "before"), asking.moment(asked, "after")
        counts = self._memory.perform(lambda _, io: operations.counts(io, home))
        found = self._memory.perform(
            lambda _, io: reading.notes_page(
                io,
                home,
                size=NOTES,
                where=match("status", status) if status else EVERYTHING,
                before=before,
                after=after,
            )
        )
        shown = {
            "counts": dict(sorted(counts.items())),
            "status": status,
            "found": found,
            "first": before is None and after is None,
        }
        return self.page("namespace.html", _within(home, "notes") | shown)

    def search(self, request: Request) -> Response:
        """What a search finds, and why."""
        asked = request.query_params
        home = read_namespace(asked.get("ns"))
        text = asked.get("q", "")
        shown: dict[str, Any] = _within(home, "search") | {
            "q": text,
            "k": asked.get("k", ""),
            "hops": asked.get("hops", ""),
            "filter": asked.get("filter", ""),
            "most": MOST_HITS,
            "problem": "",
            "hits": None,
        }
        try:
            query = asking.Query(
                text,
                asking.number(asked, "k", HITS, 1, MOST_HITS),
                asking.number(asked, "hops", 1, 0, MOST_HOPS),
                asking.conditions(shown["filter"]),
            )
            if text.strip():
                shown |= self._found(home, query)
        except (InvalidInputError, ModelError) as error:
            status = 400 if isinstance(error, InvalidInputError) else 503
            return self.page("search.html", shown | {"problem": str(error)}, status)
        return self.page("search.html", shown)

    def _found(self, home: Namespace, query: asking.Query) -> dict[str, Any]:
        hits = self._memory.search(
            query.text, namespace=home, k=query.k, hops=query.hops, filter=query.conditions
        )
        led = {hit.via.other(hit.note.id) for hit in hits if hit.via is not None}
        others = {hit.note.id: hit.note for hit in hits}
        missing = led - others.keys()
        others |= self._memory.perform(lambda _, io: reading.named_notes(io, missing, home))
        return {
            "hits": list(zip(hits, shares(hits), strict=True)),
            "others": others,
            "count": self._memory.count(home),
            "k": query.k,
            "hops": query.hops,
            "more": min(MOST_HITS, 2 * query.k),
        }

    def note(self, request: Request) -> Response:
        """One note: its text, what was understood, its links both ways, how it came about."""
        asked = request.query_params
        home = read_namespace(asked.get("ns"))
        id = request.path_params["id"]
        whole = asking.choice(asked, "whole", ("", "1")) == "1"
        told = self._memory.perform(lambda _, io: reading.told(io, id, home))
        note = told.note
        if note.id != id:
            return RedirectResponse(note_page(note, home, whole=asked.get("whole")), 302)
        texts = {other.id: other.content for other in told.others.values()}
        versions = _ALL if whole else VERSIONS
        shown = {
            "note": note,
            "others": told.others,
            "whole": whole,
            "text": note.content if whole else note.content[:TEXT],
            "limit": _ALL if whole else LINKS,
            "path": trajectory_data(note, told.revisions, texts, limit=versions),
        }
        return self.page("note.html", _within(home, "note") | shown)

    def graph(self, request: Request) -> Response:
        """The best linked notes of a namespace, and their links."""
        asked = request.query_params
        home = read_namespace(asked.get("ns"))
        by = asking.choice(asked, "by", BYS)
        limit = asking.number(asked, "limit", DOTS, 1, MOST_DOTS)
        notes = self._memory.perform(lambda _, io: notes_of(io, home))
        drawn = drawing(graph_data(notes, by=by, limit=limit))
        shown = {
            "drawn": drawn,
            "width": WIDTH,
            "by": by,
            "bys": BYS,
            "limit": limit,
            "most": MOST_DOTS,
        }
        return self.page("graph.html", _within(home, "graph") | shown)

    def health(self, request: Request) -> Response:
        """The figures of a namespace, and which of them to worry about."""
        home = read_namespace(request.query_params.get("ns"))
        return self.page(
            "health.html", _within(home, "health") | {"report": self._memory.admin.health(home)}
        )


def _within(home: Namespace, current: str) -> dict[str, Any]:
    """What every page of a namespace shows."""
    return {"ns": home, "current": current, "q": "", "k": "", "hops": "", "filter": ""}
