"""Picture: a drawn figure with its data, and what all figures have in common."""

import html
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from amem_integrations._lazy import import_library
from amem_integrations.errors import AMemError, InvalidInputError
from amem_integrations.plots.text import escaped, line

library = partial(import_library, extra="plots")
INK, FAINT, PAPER = "#1F2933", "#6B7680", "#FFFFFF"
_FONT = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif"
GRID = "#E4E8EC"
_IMAGES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")
_CELL = 500
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
body {{ margin: 0; background: #fff; color: #1f2933; font: 16px/1.5 system-ui, sans-serif; }}
main {{ max-width: 1280px; margin: 0 auto; padding: 1rem; }}
table {{ border-collapse: collapse; font-size: .875rem; }}
th, td {{ border-bottom: 1px solid #d5dadf; padding: .25rem .5rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }}
</style>
</head>
<body>
<main>
<div role="img" aria-label="{title}">{figure}</div>
{remarks}
<details><summary>The data as a table ({count:,} rows)</summary>
<table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</details>
</main>
</body>
</html>
"""


@dataclass(frozen=True)
class Picture:
    """A drawn picture with the data it was drawn from.

    A notebook shows it when it is the last value of a cell.

    Attributes:
        figure: the `plotly.graph_objects.Figure`, which you may change.
        title: what it shows.
        data: the same as dataclasses.
        rows: the same as a table, a mapping a row (`pandas.DataFrame(picture.rows)`).
        remarks: notices for the reader, such as that some notes are left out.
    """

    figure: Any
    title: str
    data: Any
    rows: Sequence[Mapping[str, Any]]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Picture: {self.title}, {len(self.rows)} rows of data>"

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        """Show it as Plotly does."""
        return self.figure._repr_mimebundle_(*args, **kwargs)

    def html(self) -> str:
        """Return one page that needs nothing else: the picture, the remarks, the data as a table.

        Only Plotly's scripts run on it; a note that contains a script is shown as text.
        """
        nonce = secrets.token_urlsafe(16)
        figure = self.figure.to_html(full_html=False, div_id="picture", config=_CONFIG)
        names = list(self.rows[0]) if self.rows else []
        return _PAGE.format(
            nonce=nonce,
            title=html.escape(self.title),
            # Plotly escapes "<" in data, so that only its own tags match.
            figure=re.sub(r"<script(?= type=|>)", f'<script nonce="{nonce}"', figure),
            remarks="".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks),
            count=len(self.rows),
            head="".join(f'<th scope="col">{html.escape(name)}</th>' for name in names),
            body="\n".join(
                f"<tr>{''.join(f'<td>{_cell(row[name])}</td>' for name in names)}</tr>"
                for row in self.rows
            ),
        )

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Save `html()`, which any browser opens without a network.

        Args:
            path: the file; a new one is readable by this user only.

        Raises:
            OSError: the file cannot be written.
        """
        with open(path, "w", encoding="utf-8", opener=_open_private) as file:
            file.write(self.html())

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
            path: the file.
            width: in pixels, multiplied by `scale`; None: as the figure has it.
            height: likewise.
            scale: pixels of the file for one of the figure.

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
        size = {name: px for name, px in (("width", width), ("height", height)) if px}
        new = not target.exists()
        target.touch(mode=0o600)
        try:
            library("kaleido").write_fig_sync(
                self.figure.to_dict(),
                target,
                opts={"format": target.suffix[1:].lower(), "scale": scale, **size},
                # Plotly's own write_image would fetch MathJax from the network.
                kopts={"mathjax": False},
            )
        except library("kaleido.errors").ChromeNotFoundError as error:
            raise AMemError(
                "Images are drawn by Chrome or Chromium, and none was found. Install one (on "
                "Debian: apt install chromium) or run plotly_get_chrome, or set BROWSER_PATH "
                "to it; write_html needs none."
            ) from error
        finally:
            if new and not target.stat().st_size:
                target.unlink()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


_CONFIG = {"displaylogo": False, "scrollZoom": False}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    shown = f"{value:.3f}" if isinstance(value, float) else line(str(value), _CELL)
    return html.escape(shown)


def new_figure(title: str, subtitle: str, height: int, **layout: Any) -> Any:
    """Return an empty figure; title and subtitle are plain text."""
    settings: dict[str, Any] = {
        "title": {
            "text": escaped(title),
            "subtitle": {"text": escaped(subtitle), "font": {"size": 14, "color": FAINT}},
            "font": {"size": 22},
            "x": 0.02,
            "xanchor": "left",
            "y": 1 - 26 / height,
            "yanchor": "top",
        },
        "font": {"family": _FONT, "size": 13, "color": INK},
        "width": 1100,
        "height": height,
        "margin": {"l": 30, "r": 30, "t": 100, "b": 40},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "hoverlabel": {"align": "left", "bgcolor": PAPER, "font": {"color": INK, "size": 12}},
        "legend": {"itemsizing": "trace", "font": {"size": 12}, "tracegroupgap": 8},
        "template": "none",
    }
    return library("plotly.graph_objects").Figure(layout={**settings, **layout})


def empty_figure(title: str, message: str) -> Any:
    """Return a figure that says why there is nothing to see."""
    hidden = {"visible": False}
    figure = new_figure(title, "", 300, xaxis=hidden, yaxis=hidden)
    return figure.add_annotation(
        text=escaped(message), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
    )


def axis(**settings: Any) -> dict[str, Any]:
    """Return an axis with faint lines."""
    return {"gridcolor": GRID, "zeroline": False, "linecolor": GRID, **settings}


def bare_axis(values: Sequence[float], room: float = 0.08) -> dict[str, Any]:
    """Return an axis without numbers, with room on either side of the values.

    room: a share of the distance from the lowest to the highest value.
    """
    low, high = min(values), max(values)
    room = (high - low) * room or 1.0
    return axis(
        showgrid=False, showticklabels=False, showline=False, range=[low - room, high + room]
    )
