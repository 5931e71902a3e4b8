"""What tests of pages share: a page taken apart, and a client that asks as a browser does."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from amem_integrations import AgenticMemory
from amem_integrations.view.app import app

HERE = "http://127.0.0.1"
_EMPTY = {"input", "link", "meta"}
_APART = {"h1", "h2", "h3", "p", "li", "td", "th", "dt", "dd", "div"}


@dataclass
class Element:
    """An element with the text inside it, spaces folded."""

    tag: str
    attributes: dict[str, str | None]
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())


class Page(HTMLParser):
    """The elements of a page, as a browser would make them of it."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.texts: list[tuple[tuple[Element, ...], str]] = []
        """Each text with the elements that it is inside of, the outermost first."""
        self._open: list[Element] = []
        self.root = Element("", {})
        self.feed(response.text)
        self.close()
        assert not self._open, f"left open: {[each.tag for each in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {tag} {names}"
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag in _APART:
            self.handle_data(" ")
        if tag not in _EMPTY:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and (element := self._open.pop()).tag != tag:
            assert element.tag in ("p", "li", "option"), f"<{element.tag}> closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))
        for element in (self.root, *self._open):
            element.parts.append(data)

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements of a tag; `class_` is one of its classes, `-` in names is `_`."""
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag
            and all(
                value in (element.attributes.get(name) or "").split()
                if name == "class"
                else element.attributes.get(name) == value
                for name, value in wanted.items()
            )
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    def link(self, text: str) -> str:
        """Where the only link with this text leads."""
        (found,) = (each for each in self.all("a") if each.text == text)
        return str(found.attributes["href"])

    @property
    def text(self) -> str:
        return self.root.text


class Browser:
    """Asks for pages of a memory, as a browser on this machine does."""

    def __init__(self, memory: AgenticMemory) -> None:
        self.client = TestClient(app(memory, "the memory"), HERE, follow_redirects=False)

    def get(self, address: str, status: int = 200, **options: Any) -> Page:
        response = self.client.get(address, **options)
        assert response.status_code == status, response.text
        return Page(response)
