"""Whatever is stored, a page shows it and does nothing else with it."""

from collections.abc import Iterator
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.view.addresses import note_page, page
from tests.support import chat_model, judgement, open_memory
from tests.view.support import Browser, Page

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "' onmouseover='alert(3)' x='",
    "</title></svg></code><svg onload=alert(4)>",
    "{{ 191 * 191 }}{% for x in () %}",
    "javascript:alert(5)",
    "\u202e<b>turned</b>\u2028\x1b[31m",
)
HOSTILE = " and ".join(ATTACKS)
HOME = ("<script>alert(0)</script>", '"><img src=x onerror=alert(0)>')
SHOWN = {
    "html", "head", "meta", "title", "link", "body", "a", "header", "p", "span", "bdi", "nav",
    "form", "input", "div", "label", "button", "details", "summary", "main", "h1", "h2", "h3",
    "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "ol", "ul", "li", "time",
    "svg", "rect", "section", "dl", "dt", "dd", "ins", "del", "code", "footer", "select",
    "option", "defs", "path", "use", "line", "text",
}  # fmt: skip
ATTRIBUTES = {
    "href", "src", "id", "class", "name", "value", "type", "for", "action", "method", "role",
    "lang", "charset", "content", "rel", "tabindex", "dir", "placeholder", "autocomplete",
    "spellcheck", "inputmode", "size", "open", "selected", "title", "datetime", "scope", "viewbox",
    "preserveaspectratio", "focusable", "width", "height", "x", "y", "x1", "y1", "x2", "y2",
    "stroke-width", "fill", "transform", "d",
}  # fmt: skip


def hostile(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything that a judge can write is an attack."""
    return judgement(
        text,
        keywords=ATTACKS[:1],
        tags=[f"tag {each}" for each in ATTACKS],
        context=f"context {HOSTILE}",
        links=[
            {"to": c["n"], "reason": f"reason {HOSTILE}", "kind": ATTACKS[0], "strength": 0.9}
            for c in candidates
        ],
        evolutions=[
            {
                "note": c["n"],
                "keywords": [f"evolved {each}" for each in ATTACKS],
                "tags": ["t"],
                "context": f"evolved {HOSTILE}",
                "reason": f"because {HOSTILE}",
            }
            for c in candidates
        ],
    )


@pytest.fixture(scope="module")
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(hostile), neighbours=2) as opened:
        for number in range(3):
            opened.add(
                f"{number} {HOSTILE}",
                namespace=HOME,
                key=f"key {number} {HOSTILE}",
                speaker=f"speaker {HOSTILE}",
                session=f"session {HOSTILE}",
                metadata={ATTACKS[0]: HOSTILE},
            )
        yield opened


@pytest.fixture(scope="module")
def looking(memory: AgenticMemory) -> Browser:
    return Browser(memory)


def addresses(memory: AgenticMemory) -> list[str]:
    note = memory.recent(namespace=HOME)[-1]
    return [
        "/",
        page("/", containing=HOSTILE),
        page("/", page=HOSTILE),
        page("/namespace", HOME),
        page("/namespace", HOME, status=HOSTILE),
        page("/search", HOME, q=HOSTILE),
        page("/search", HOME, q=HOSTILE, k=HOSTILE, hops=HOSTILE, filter=HOSTILE),
        note_page(note, HOME),
        note_page(note, HOME, whole=1),
        note_page(HOSTILE, HOME),
        page("/graph", HOME, by="tag"),
        page("/graph", HOME, by="speaker"),
        page("/graph", HOME, by=HOSTILE),
        page("/health", HOME),
        page("/health", (HOSTILE,)),
        page("/health") + "?ns=" + "<script>",
        "/<script>alert(1)</script>",
    ]


def test_no_page_holds_elements_attributes_or_addresses_of_what_is_stored(
    memory: AgenticMemory, looking: Browser
) -> None:
    for address in addresses(memory):
        shown = Page(looking.client.get(address))
        assert {element.tag for element in shown.elements} <= SHOWN, address
        for element in shown.elements:
            strange = element.attributes.keys() - ATTRIBUTES
            assert not {name for name in strange if not name.startswith("aria-")}, address
            for name in ("href", "src", "action"):
                target = element.attributes.get(name) or "#"
                assert target.startswith(("/", "#")), (address, target)
                assert not target.startswith("//"), (address, target)
        # What turns text around stays within its element.
        for inside, text in shown.texts:
            if "\u202e" in text:
                isolated = any(each.tag == "bdi" or "dir" in each.attributes for each in inside)
                assert isolated, (address, [each.tag for each in inside])


def test_what_is_stored_shows_as_it_was_written(memory: AgenticMemory, looking: Browser) -> None:
    note = memory.recent(namespace=HOME)[-1]
    shown = looking.get(note_page(note, HOME, whole=1)).text
    for attack in ATTACKS[:-1]:
        for written in (f"reason {ATTACKS[0]}", f"evolved {attack}", f"tag {attack}", attack):
            assert " ".join(written.split()) in shown
    assert "<b>turned</b>" in shown
    assert "36481" not in shown
