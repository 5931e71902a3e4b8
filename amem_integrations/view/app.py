"""The application: the table of routes, who may ask, and what is answered when something fails."""

import http
from collections.abc import Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from amem_integrations.errors import (
    AMemError,
    InvalidInputError,
    NoteNotFoundError,
    StoreUnavailableError,
)
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.view.pages import Pages
from amem_integrations.view.templating import make_environment

# A name that leads here from elsewhere is another site's, which must not read what is here.
HOSTS = ("127.0.0.1", "localhost", "[::1]")
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATUSES: Mapping[type[AMemError], int] = {
    NoteNotFoundError: 404,
    InvalidInputError: 400,
    StoreUnavailableError: 503,
    AMemError: 500,
}


def app(memory: AgenticMemory, location: str) -> ASGIApp:
    """The pages of a memory. location: what it is called on them."""
    pages = Pages(memory, make_environment(location))
    failures = _Failures(pages)
    routes = [
        Route("/", pages.home, methods=["GET"]),
        Route("/namespace", pages.namespace, methods=["GET"]),
        Route("/search", pages.search, methods=["GET"]),
        Route("/note/{id}", pages.note, methods=["GET"]),
        Route("/graph", pages.graph, methods=["GET"]),
        Route("/health", pages.health, methods=["GET"]),
        Mount("/static", StaticFiles(directory=Path(__file__).with_name("static"))),
    ]
    starlette = Starlette(
        routes=routes,
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
        ],
        exception_handlers={
            HTTPException: failures.refused,
            AMemError: failures.failed,
            ModuleNotFoundError: failures.failed,
            Exception: failures.broken,
        },
    )
    return _Guarded(starlette)


class _Failures:
    """The page that says what went wrong."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        what = {
            404: "There is no such page.",
            405: "These pages only show what is there: they can be asked for, nothing else.",
        }.get(error.status_code, error.detail)
        return self._page(error.status_code, what, error.headers)

    def failed(self, request: Request, error: Exception) -> Response:
        kinds = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
        return self._page(next(kinds, 500), str(error))

    def broken(self, request: Request, error: Exception) -> Response:
        what = f"That should not have happened ({type(error).__name__}); the terminal says more."
        return self._page(500, what)

    def _page(self, status: int, what: str, headers: Mapping[str, str] | None = None) -> Response:
        shown = {"status": status, "phrase": http.HTTPStatus(status).phrase, "what": what}
        return self._pages.page("error.html", shown, status, **(headers or {}))


class _Guarded:
    """Adds the headers that keep what is stored from acting, to every answer there is."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._inner(scope, receive, guarded)
