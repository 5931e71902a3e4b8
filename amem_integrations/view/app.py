"""The application: the table of routes, who may ask, and what is answered when something fails."""

import http
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
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
from amem_integrations.view.html import make_environment
from amem_integrations.view.pages import Pages

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
_REFUSALS = {
    404: "There is no such page.",
    405: "These pages only show what is there: they can be asked for, nothing else.",
}


def app(memory: AgenticMemory, location: str) -> ASGIApp:
    """The pages of a memory. location: what it is called on them."""
    pages = Pages(memory, make_environment(location))

    def show_error(request: Request, error: Exception) -> Response:
        status, message = _describe(error)
        shown = {"status": status, "phrase": http.HTTPStatus(status).phrase, "what": message}
        headers = (error.headers if isinstance(error, HTTPException) else None) or {}
        return pages.page("error.html", shown, status, **headers)

    routes = [
        Route("/", pages.home, methods=["GET"]),
        Route("/namespace", pages.namespace, methods=["GET"]),
        Route("/search", pages.search, methods=["GET"]),
        Route("/note/{id}", pages.note, methods=["GET"]),
        Route("/graph", pages.graph, methods=["GET"]),
        Route("/health", pages.health, methods=["GET"]),
        Mount("/static", StaticFiles(directory=Path(__file__).with_name("static"))),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
    kinds = (HTTPException, AMemError, ModuleNotFoundError, Exception)
    starlette = Starlette(
        routes=routes, middleware=[hosts], exception_handlers=dict.fromkeys(kinds, show_error)
    )
    return _Guarded(starlette)


def _describe(error: Exception) -> tuple[int, str]:
    """The status of a page that reports an error, and what it says."""
    match error:
        case HTTPException():
            return error.status_code, _REFUSALS.get(error.status_code, error.detail)
        case AMemError() | ModuleNotFoundError():
            statuses = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
            return next(statuses, 500), str(error)
        case _:
            name = type(error).__name__
            return 500, f"That should not have happened ({name}); the terminal says more."


class _Guarded:
    """Refuses what another site asks for, and adds to every answer the headers that keep what is
    stored from acting.
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["type"] == "http" and _is_foreign(Headers(scope=scope)):
            refusal = "Another site led here. Enter the address yourself to see this page.\n"
            await PlainTextResponse(refusal, 403)(scope, receive, guarded)
            return
        await self._inner(scope, receive, guarded)


def _is_foreign(headers: Headers) -> bool:
    """Whether a page of another site asks, or leads here; another port is another site."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    # Browsers of before 2023, and what is no browser.
    senders = (headers.get(name) for name in ("origin", "referer"))
    return any(
        sender is not None and urlsplit(sender).netloc != headers.get("host") for sender in senders
    )
