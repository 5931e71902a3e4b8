"""Picture: what every function of this package returns, to look at, to save, or to take apart."""

import html
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amem_integrations.errors import AMemError, InvalidInputError
from amem_integrations.plots.libraries import library
from amem_integrations.plots.text import line

_IMAGES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
_CELL = 500
_CONFIG = {"displaylogo": False, "responsive": True, "scrollZoom": False}
_STYLE = """
body { margin: 0; background: #fff; color: #1f2933; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; font-size: .875rem; }
th, td { border-bottom: 1px solid #d5dadf; padding: .25rem .5rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
summary { cursor: pointer; }
"""


@dataclass(frozen=True)
class Picture:
    """A drawn picture with the data it was drawn from.

    A notebook shows it when it is a cell's last value.

    Attributes:
        figure: the `plotly.graph_objects.Figure`, to change what you like.
        title: what it is of.
        data: what it shows, as dataclasses.
        rows: the same as a table, a mapping a row (`pandas.DataFrame(picture.rows)`).
        remarks: what a reader should know, such as that not all notes are shown.

    Examples:
        >>> from amem_integrations.plots import note_graph
        >>> _ = memory.add_many(["Tea is served at four", "The tram leaves at nine"])
        >>> picture = note_graph(memory)
        >>> picture
        <Picture: Notes and links of default, 2 rows of data>
        >>> picture.write_html("graph.html")
    """

    figure: Any
    title: str
    data: Any
    rows: Sequence[Mapping[str, Any]]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Picture: {self.title}, {len(self.rows)} rows of data>"

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        """What a notebook shows: as Plotly does it where it knows how, else the page in a frame."""
        shown = self.figure._repr_mimebundle_(*args, **kwargs)
        return shown or {"text/plain": repr(self), "text/html": self._frame()}

    def _frame(self) -> str:
        height = int(self.figure.layout.height) + 80
        return (
            f'<iframe sandbox="allow-scripts" title="{html.escape(self.title)}" width="100%" '
            f'height="{height}" style="border: 0" srcdoc="{html.escape(self.html())}"></iframe>'
        )

    def html(self) -> str:
        """One page that needs nothing else: the picture, the remarks, the data as a table.

        Only the page's own scripts run: a note that holds one shows it.
        """
        nonce = secrets.token_urlsafe(16)
        title = html.escape(self.title)
        figure = self.figure.to_plotly_json()
        config = json.dumps(_CONFIG)
        drawing = library("plotly.io").to_json(figure, validate=False)
        height = int(self.figure.layout.height)
        remarks = "".join(f"<p>{html.escape(each)}</p>" for each in self.remarks)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            f"script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:\">\n"
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
            f'<div id="picture" role="img" aria-label="{title}" '
            f'style="min-height: {height}px"></div>\n{remarks}\n'
            f"<details><summary>The data as a table ({len(self.rows):,} rows)</summary>\n"
            f"{self._table()}</details>\n</main>\n"
            f'<script nonce="{nonce}">{library("plotly.offline").get_plotlyjs()}</script>\n'
            f'<script nonce="{nonce}">const figure = {drawing};\n'
            f'Plotly.newPlot("picture", figure.data, figure.layout, {config});</script>\n'
            "</body>\n</html>\n"
        )

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Save `html()`, which any browser opens without a network.

        Args:
            path: of the file.

        Raises:
            OSError: it cannot be written.
        """
        Path(path).write_text(self.html(), "utf-8")

    def write_image(
        self,
        path: str | os.PathLike[str],
        *,
        width: int | None = None,
        height: int | None = None,
        scale: float = 2,
    ) -> None:
        """Save for print: PNG, SVG, PDF, JPEG or WebP, by the ending of `path`.

        Chrome or Chromium does the drawing.

        Args:
            path: of the file.
            width: in pixels, multiplied by `scale`; None: as the figure has it.
            height: likewise.
            scale: how many pixels of the file make one of the figure.

        Raises:
            InvalidInputError: the file has another ending.
            AMemError: there is no browser.
        """
        target = Path(path)
        if target.suffix.lower() not in _IMAGES:
            raise InvalidInputError(
                f"A picture is saved as one of {', '.join(_IMAGES)}, or by write_html; "
                f"got {target.name!r}."
            )
        kaleido = library("kaleido")
        size = {name: each for name, each in (("width", width), ("height", height)) if each}
        try:
            kaleido.write_fig_sync(
                self.figure.to_dict(),
                target,
                opts={"format": target.suffix[1:].lower(), "scale": scale, **size},
                # It would be fetched from the network, and nothing here is TeX.
                kopts={"mathjax": False},
            )
        except library("kaleido.errors").ChromeNotFoundError as error:
            raise AMemError(
                "Images are drawn by Chrome or Chromium, and none was found. Install one (on "
                "Debian: apt install chromium) or run plotly_get_chrome, or set BROWSER_PATH "
                "to it; write_html needs none."
            ) from error

    def _table(self) -> str:
        names = list(self.rows[0]) if self.rows else []
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in names) + "</tr>\n"
            for row in self.rows
        )
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    shown = f"{value:.3f}" if isinstance(value, float) else line(str(value), _CELL)
    return html.escape(shown)
