"""Prints what the changelog says of a version; fails where it says nothing.

python .github/release_notes.py 0.1.0
"""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(changelog: str, version: str) -> str:
    """The section of `version`, without its heading. Raises SystemExit if there is none."""
    section = re.search(
        rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if section is None or not section[1].strip():
        raise SystemExit(f"CHANGELOG.md says nothing of {version}.")
    return section[1].strip()


if __name__ == "__main__":
    sys.stdout.write(notes(CHANGELOG.read_text(encoding="utf-8"), sys.argv[1]) + "\n")
