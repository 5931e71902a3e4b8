"""What an install takes on disk, by extra: packages and megabytes.

    python -m tests.benchmarks.install              # the bare package and each extra
    python -m tests.benchmarks.install cli plots    # only some

Each is installed by pip into a virtual environment of its own, from this checkout. Counted is what
comes beside pip itself, before Python compiles any of it.
"""

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
BARE = "(none)"


def extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [BARE, *project["optional-dependencies"]]


def measured(extra: str) -> tuple[int, float]:
    """How many packages an extra brings, itself included, and how many MB these are."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        before = _size(folder)
        wanted = str(ROOT) if extra == BARE else f"{ROOT}[{extra}]"
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "--no-compile", wanted], check=True)
        listed = subprocess.run(
            [*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True
        )
        packages = {line.split("==")[0] for line in listed.stdout.splitlines()}
        return len(packages - {"pip", "setuptools"}), (_size(folder) - before) / 1e6


def _size(folder: str) -> int:
    files = Path(folder).rglob("*")
    return sum(
        file.stat().st_size
        for file in files
        if file.is_file() and not file.is_symlink() and file.suffix != ".pyc"
    )


def main(wanted: list[str]) -> None:
    print("| extra | packages | MB |\n| --- | --- | --- |")
    for extra in wanted or extras():
        packages, megabytes = measured(extra)
        print(f"| {extra} | {packages} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
