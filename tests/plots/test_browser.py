"""A saved page in a real browser. One start of Chromium takes seconds, so there is one."""

import re
import subprocess
from pathlib import Path

from amem_integrations import AgenticMemory
from amem_integrations.plots import Picture, note_graph
from tests.plots.conftest import CONTENTS, HOSTILE


def rendered(browser: str, picture: Picture, home: Path, *, script: str = "") -> str:
    """The page as it is once its scripts ran, `script` after them, without the scripts."""
    page = picture.html()
    nonce = page.partition("'nonce-")[2].partition("'")[0]
    page = page.replace("</body>", f'<script nonce="{nonce}">{script}</script></body>')
    (home / "page.html").write_text(page, "utf-8")
    done = subprocess.run(
        [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={home / 'profile'}",
            "--virtual-time-budget=10000",
            "--dump-dom",
            (home / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return re.sub(r"<script nonce.*?</script>", "", done.stdout, flags=re.DOTALL)


def test_a_graph_shows_its_notes_and_runs_none_of_them(
    memory: AgenticMemory, browser: str, tmp_path: Path
) -> None:
    picture = note_graph(memory, "cache")
    curve, point = next(
        (curve, place)
        for curve, trace in enumerate(picture.figure.data)
        if trace.legendgroup == "notes"
        for place, text in enumerate(trace.hovertext)
        if "taken over" in text.partition("context")[0]
    )
    hover = f"Plotly.Fx.hover('picture', [{{curveNumber: {curve}, pointNumber: {point}}}]);"
    page = rendered(browser, picture, tmp_path, script=hover)

    drawing = page.partition('id="picture"')[2].partition("<details>")[0]
    labels = [re.sub("<[^>]+>", "", each) for each in re.findall("<text.*?</text>", drawing)]
    for content in CONTENTS:
        if content != HOSTILE:
            assert any(label[:25] in content for label in labels if len(label) > 20), content
    box = " ".join(re.sub("<[^>]+>", " ", drawing.partition('class="hoverlayer"')[2]).split())
    assert "&lt;script&gt;document.title" in box
    assert "&lt;b&gt;bold&lt;/b&gt; $\\alpha$" in box
    assert "<title>Notes and links of cache</title>" in page
    assert "<img" not in page
    assert ">bold<" not in page
