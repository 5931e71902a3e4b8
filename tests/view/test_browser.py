"""The pages in a real browser, with a mouse and a keyboard. Starting Chromium takes seconds."""

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import ConsoleMessage, Request, expect, sync_playwright
from playwright.sync_api import Page as Tab

from amem_integrations import AgenticMemory
from amem_integrations.view.addresses import note_page, page
from amem_integrations.view.app import app
from amem_integrations.view.server import address_of, listen, server
from tests.support import chat_model, open_memory
from tests.view.conftest import CONTENTS, HOME
from tests.view.test_untrusted import ATTACKS, hostile
from tests.view.test_untrusted import HOME as HOSTILE_HOME

WIDTH = 375
"""That of a phone."""


@contextmanager
def served(memory: AgenticMemory) -> Generator[str]:
    """Where the memory is served, by what `amem view` serves it with."""
    with listen("127.0.0.1", 0) as listener:
        running = server(app(memory, "the memory"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address_of(listener).rstrip("/")
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture
def tab(browser: str) -> Iterator[Tab]:
    """A tab that must stay on this machine and have nothing to complain of."""
    asked: list[str] = []
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    def sent(request: Request) -> None:
        asked.append(request.url)

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        opened = chromium.new_page(viewport={"width": WIDTH, "height": 700})
        opened.on("console", heard)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("request", sent)
        yield opened
        chromium.close()
    assert complaints == []
    assert {url.split("/")[2].partition(":")[0] for url in asked} == {"127.0.0.1"}


def test_a_search_is_typed_and_a_link_followed_from_note_to_note(
    memory: AgenticMemory, tab: Tab
) -> None:
    with served(memory) as address:
        tab.goto(address)
        tab.get_by_role("link", name="cache / of Calvin", exact=True).click()
        tab.get_by_label("Search in this namespace").fill("which policy for the cache?")
        tab.keyboard.press("Enter")

        best = tab.get_by_role("listitem").filter(has=tab.get_by_role("heading")).first
        expect(best.get_by_role("row", name="meaning")).to_contain_text("+")
        expect(best.get_by_role("row", name="score")).to_be_visible()
        tab.wait_for_load_state()  # bars have no height without the stylesheet
        bars = [each.bounding_box() for each in tab.locator(".bar .share").all()]
        assert all(box is not None and box["height"] > 4 for box in bars)
        assert len({round(box["width"]) for box in bars if box is not None}) > 1

        best.get_by_role("link", name=CONTENTS[0]).click()
        expect(tab.get_by_role("heading", level=1)).to_have_text(CONTENTS[0])
        made_to_it = tab.get_by_role("region", name="Links made to it")
        made_to_it.get_by_role("link", name=CONTENTS[1]).click()
        expect(tab.get_by_role("heading", level=1)).to_have_text(CONTENTS[1])
        it_made = tab.get_by_role("region", name="Links it made")
        expect(it_made.get_by_role("link", name=CONTENTS[0])).to_be_visible()

        tab.get_by_role("link", name="Graph").click()
        tab.get_by_label("Colours are").select_option("speaker")
        tab.get_by_role("button", name="Draw").click()
        tab.locator("svg.graph a").first.click()
        expect(tab.get_by_role("heading", name="How it came about")).to_be_visible()

        for path in ("/namespace", "/search", "/graph", "/health"):
            tab.goto(address + page(path, HOME, q="cache"))
            assert tab.evaluate("document.documentElement.scrollWidth") <= WIDTH, path


def test_nothing_that_is_stored_runs(tab: Tab) -> None:
    dialogs: list[str] = []
    tab.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    with open_memory(model=chat_model(hostile), neighbours=2) as memory, served(memory) as address:
        for number in range(2):
            note = memory.add(f"{number} {' '.join(ATTACKS)}", namespace=HOSTILE_HOME)
        for path, shown in (
            ("/", "alert(0)"),
            (page("/namespace", HOSTILE_HOME), "alert(1)"),
            (page("/search", HOSTILE_HOME, q=ATTACKS[1]), "alert(1)"),
            (note_page(note, HOSTILE_HOME), "alert(1)"),
            (page("/graph", HOSTILE_HOME, by="tag"), "alert(1)"),
        ):
            tab.goto(address + path)
            expect(tab.locator("main")).to_contain_text(shown)
    assert dialogs == []
