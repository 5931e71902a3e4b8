"""Pages of the notebooks for the documentation site, with what their cells printed.

A hook of mkdocs, named in mkdocs.yml.
"""

import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

COOKBOOK = Path(__file__).parent


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, beside the notebook itself and what it links to."""
    for path in (*sorted(COOKBOOK.glob("*.ipynb")), COOKBOOK / "compose.yaml"):
        text = path.read_text("utf-8")
        files.append(File.generated(config, f"notebooks/{path.name}", content=text))
        if path.suffix == ".ipynb":
            page = f"{as_markdown(json.loads(text))}\n\n[The notebook itself]({path.name})\n"
            files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
    return files


def as_markdown(notebook: dict[str, Any]) -> str:
    """A notebook's cells, one after the other."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else _fenced(source, "python"))
        for output in cell.get("outputs", ()):
            parts.append(_fenced("".join(output["text"]), "text"))
    return "\n\n".join(parts)


def _fenced(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````"
