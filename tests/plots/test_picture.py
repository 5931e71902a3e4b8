"""What is saved: one page that needs nothing else, images, tables; text that stays text."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.errors import AMemError, InvalidInputError
from amem_integrations.plots import (
    Picture,
    activity_heatmap,
    embedding_map,
    note_graph,
    text,
    trajectory,
)
from amem_integrations.plots.picture import library
from tests.plots.conftest import HOSTILE

Draw = Callable[[AgenticMemory], Picture]

PICTURES: dict[str, Draw] = {
    "graph": lambda memory: note_graph(memory, "cache"),
    "map": lambda memory: embedding_map(memory, "cache"),
    "activity": lambda memory: activity_heatmap(memory, "cache"),
    "trajectory": lambda memory: trajectory(memory, hostile_note(memory)),
}


@pytest.fixture(scope="module", params=PICTURES.values(), ids=PICTURES.keys())
def picture(request: pytest.FixtureRequest, memory: AgenticMemory) -> Picture:
    return request.param(memory)


def hostile_note(memory: AgenticMemory) -> str:
    (found,) = (note for note in memory.recent(namespace="cache") if note.content == HOSTILE)
    return found  # type: ignore[return-value]


def test_no_stored_text_is_markup(picture: Picture) -> None:
    # Whatever of a note ended Plotly's own script would be left here.
    shown = re.sub(r'<script nonce="[^"]+".*?</script>', "", picture.html(), flags=re.DOTALL)
    assert "&lt;img" in shown
    for markup in ("<script", "</script", "<img", "<b>bold"):
        assert markup not in shown
    labels = json.dumps(json.loads(picture.figure.to_json()), ensure_ascii=False)
    assert "&lt;script" in labels
    assert not re.search(r"<(?!/?(b|i|br|span)\b)", labels)
    assert "<b>bold" not in labels
    assert "$" not in labels


def test_a_page_fetches_nothing_and_says_in_words_what_it_shows(picture: Picture) -> None:
    page = picture.html()
    assert "default-src 'none'" in page
    body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""\b(src|href)=["']?(http|//)""", body)
    nonce = page.partition("'nonce-")[2].partition("'")[0]
    assert page.count(f'<script nonce="{nonce}"') == 3
    assert '<html lang="en">' in page
    assert re.search(r'role="img" aria-label="[^"]+"', page)
    assert page.count('<th scope="col">') == len(picture.rows[0])
    assert page.count("<tr>") == len(picture.rows) + 1


def test_a_page_is_written_with_its_remarks(memory: AgenticMemory, tmp_path: Path) -> None:
    note_graph(memory, "cache", limit=2).write_html(tmp_path / "graph.html")
    assert "<p>2 of 4 notes are shown" in (tmp_path / "graph.html").read_text("utf-8")


def test_jupyter_shows_it_as_plotly_does(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library("plotly.io").renderers, "default", "plotly_mimetype")
    shown = note_graph(memory, "two")._repr_mimebundle_()
    assert shown["application/vnd.plotly.v1+json"]["data"]


def test_an_image_is_saved_by_its_ending(
    memory: AgenticMemory, browser: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", browser)
    note_graph(memory, "two").write_image(tmp_path / "graph.png", width=400, height=300, scale=2)
    data = (tmp_path / "graph.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")) == (800, 600)


def test_without_a_browser_an_image_is_refused_with_what_to_do(
    memory: AgenticMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = library("kaleido.errors").ChromeNotFoundError

    def fail(*args: object, **kwargs: object) -> None:
        raise missing

    monkeypatch.setattr("kaleido.write_fig_sync", fail)
    picture = note_graph(memory, "two")
    with pytest.raises(AMemError, match="apt install chromium"):
        picture.write_image(tmp_path / "graph.png")
    with pytest.raises(InvalidInputError, match=r"graph\.gif"):
        picture.write_image(tmp_path / "graph.gif")


def test_importing_the_pictures_loads_no_library_that_draws() -> None:
    program = (
        "import sys, amem_integrations.plots as plots; [getattr(plots, n) for n in plots.__all__];"
        "print({'plotly', 'networkx', 'sklearn', 'numpy', 'scipy', 'kaleido'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("short", "short"),
        ("two\nlines\x1b[2J and\u202e more", "two lines[2J an…"),
        ("a" * 50, "a" * 15 + "…"),
        ("汉字" * 10, "汉字汉字汉字汉…"),
        ("", ""),
    ],
)
def test_text_is_cut_to_one_line_of_what_can_be_seen(given: str, shown: str) -> None:
    assert text.line(given, 16) == shown


def test_a_note_of_megabytes_is_cut_before_it_is_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    category = text.unicodedata.category
    monkeypatch.setattr(
        text.unicodedata, "category", lambda each: seen.append(each) or category(each)
    )
    text.hover("x" * 1_000_000, [("context", "y" * 1_000_000)])
    assert len(seen) <= 8 * text.HOVER
