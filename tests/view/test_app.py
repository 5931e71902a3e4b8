"""Who may ask and how; what is answered when something fails; that nothing is ever written."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.errors import StoreUnavailableError
from amem_integrations.memory.admin import Admin
from amem_integrations.view.addresses import note_page, page
from amem_integrations.view.app import app
from tests.lifecycle.engines import open_on
from tests.support import chat_model, io_of
from tests.view.conftest import HOME
from tests.view.support import HERE, Browser

PATHS = ("/", "/namespace", "/search", "/note/x", "/graph", "/health", "/static/style.css")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost:1", "[::1]:8765"])
def test_this_machine_may_ask_by_any_of_its_names(looking: Browser, host: str) -> None:
    looking.get("/", headers={"host": host})


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.", "0.0.0.0", "::1", "a@127.0.0.1"],
)
def test_a_name_that_leads_here_from_elsewhere_is_refused(looking: Browser, host: str) -> None:
    for path in PATHS:
        answer = looking.client.get(path, headers={"host": host})
        assert answer.status_code == 400
        assert answer.text == "Invalid host header"


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"referer": "http://127.0.0.1:9999/page"},
    ],
    ids=str,
)
def test_what_another_site_asks_for_is_refused(looking: Browser, headers: dict[str, str]) -> None:
    for path in PATHS:
        answer = looking.client.get(path, headers=headers)
        assert answer.status_code == 403
        assert answer.text.startswith("Another site led here.")
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_pages_themselves_and_the_address_bar_are_answered(looking: Browser, site: str) -> None:
    looking.get("/", headers={"sec-fetch-site": site})
    looking.get("/", headers={"referer": f"{HERE}/health"})


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "ODD"])
def test_pages_can_be_asked_for_and_nothing_else(looking: Browser, method: str) -> None:
    for path in PATHS:
        assert looking.client.request(method, path).status_code == 405


def test_the_style_and_the_icon_come_along(looking: Browser) -> None:
    shown = looking.get("/")
    kinds = [
        looking.client.get(str(each.attributes["href"])).headers["content-type"].partition(";")[0]
        for each in shown.all("link")
    ]
    assert kinds == ["image/svg+xml", "text/css"]


@pytest.mark.parametrize(
    "path", ["/nope", "/static/", "/static/../app.py", "/static/%2e%2e/app.py"]
)
def test_nothing_else_of_the_package_is_served(looking: Browser, path: str) -> None:
    assert "There is no such page." in looking.get(path, 404).text


def test_every_answer_forbids_scripts_frames_and_other_sites(looking: Browser) -> None:
    answers = [looking.client.get(path) for path in (*PATHS, "/nope")]
    answers.append(looking.client.get("/", headers={"host": "evil.example"}))
    answers.append(looking.client.post("/"))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'; ")
        assert "script" not in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*given: Any, **more: Any) -> Any:
        raise error

    monkeypatch.setattr(AgenticMemory, "perform", fail)


def test_a_store_that_is_out_of_reach_is_reported(
    looking: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, StoreUnavailableError("The server is down."))
    assert "The server is down." in looking.get("/", 503).text


def test_a_defect_says_nothing_of_what_is_stored(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, RuntimeError("secret"))
    looking = Browser(memory)
    looking.client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
    answer = looking.client.get("/")
    assert answer.status_code == 500
    assert "(RuntimeError)" in answer.text
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("kind", ["embedded", "server"])
def test_looking_at_everything_writes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_on(kind, model=chat_model(), neighbours=2) as memory:
        memory.add_many(["The cache is full", "The cache is empty"], namespace=HOME)
        raw = memory.add("The cache waits", namespace=HOME, formation="off")
        memory.flush()
        before = points(memory)
        engine: Any = type(io_of(memory).engine)
        for name in ("insert", "commit", "patch", "delete"):
            monkeypatch.setattr(engine, name, forbidden(name))
        looking = Browser(memory)
        for address in (
            "/",
            page("/namespace", HOME),
            page("/search", HOME, q="cache"),
            note_page(raw, HOME),
            *(note_page(note, HOME) for note in memory.recent(namespace=HOME)),
            page("/graph", HOME),
            page("/health", HOME),
        ):
            looking.get(address)
        assert points(memory) == before
        monkeypatch.undo()


def points(memory: AgenticMemory) -> dict[str, Any]:
    """All that is stored, reports of use and of model calls included."""
    found = memory.perform(lambda _, io: io.engine.scroll(EVERYTHING, limit=10_000))
    return {point.id: point.payload for point in found}


def forbidden(name: str) -> Callable[..., Any]:
    async def write(*given: Any, **more: Any) -> Any:
        raise AssertionError(f"{name} was called")

    return write


async def test_a_page_that_takes_long_holds_up_no_other(
    memory: AgenticMemory, note: Note, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, done = threading.Event(), threading.Event()
    real = Admin.health

    def slow(self: Admin, namespace: Any = None) -> Any:
        going.set()
        assert done.wait(60)
        return real(self, namespace)

    monkeypatch.setattr(Admin, "health", slow)
    made: Any = await asyncio.to_thread(app, memory, "the memory")
    transport = httpx.ASGITransport(made)
    async with httpx.AsyncClient(transport=transport, base_url=HERE) as client:
        first = asyncio.create_task(client.get(page("/health", HOME)))
        await asyncio.to_thread(going.wait, 60)
        for address in ("/", page("/search", HOME, q="cache"), note_page(note, HOME)):
            assert (await client.get(address)).status_code == 200
        assert not first.done()
        done.set()
        assert (await first).status_code == 200
