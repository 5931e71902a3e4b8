"""The whole of `amem eval scale`: every storage at every size, growth, and writing one more note.

What it returns is ready for JSON; the command line and the picture show it.
"""

import math
import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.report import percentiles
from amem_integrations.evaluation.scaling.material import DIMENSION, batches
from amem_integrations.evaluation.scaling.measure import PASSES, Measured, measured
from amem_integrations.evaluation.scaling.storages import STORAGES, K, Storage
from amem_integrations.evaluation.scaling.writing import writing

Stage = Callable[[str], None]

PAPER: Mapping[int, Mapping[str, float]] = {
    1_000: {"MB": 1.46, "amem": 0.31, "memorybank": 0.24, "readagent": 43.62},
    10_000: {"MB": 14.65, "amem": 0.38, "memorybank": 0.26, "readagent": 484.45},
    100_000: {"MB": 146.48, "amem": 1.40, "memorybank": 0.78, "readagent": 6_682.22},
    1_000_000: {"MB": 1464.84, "amem": 3.70, "memorybank": 1.91, "readagent": 120_069.68},
}
"""Table 4 of the paper (arXiv 2502.12110): megabytes, the same for all, and mean microseconds.

The paper does not say how they were timed; its megabytes are those of the vectors alone.
"""

_FEW = 2
_PACKAGES = ("amem-integrations", "qdrant-edge-py", "numpy", "chromadb")


def scale(
    sizes: Sequence[int],
    *,
    storages: Sequence[str] = tuple(STORAGES),
    questions: int = 50,
    seed: int = 0,
    dimension: int = DIMENSION,
    directory: Path | None = None,
    stage: Stage = lambda name: None,
) -> dict[str, Any]:
    """Measure each storage at each size; `rows` of the report has one row for each.

    Memory is what a process takes beyond `base`, one with hardly a note in its store.
    directory: where the stores are written while they are measured, and removed from then.
    stage: told what is being done. Raises InvalidInputError, and what the storages raise.
    """
    _check(sizes, storages, questions)
    rows: list[dict[str, Any]] = []
    written: list[dict[str, Any]] = []
    missing = {name: why for name in storages if (why := STORAGES[name].missing())}
    settings = {"seed": seed, "dimension": dimension}
    used = [STORAGES[name] for name in storages if name not in missing]
    base = {each.name: _base(each, directory, **settings) for each in used}
    for size in sorted(set(sizes)):
        for storage in used:
            with tempfile.TemporaryDirectory(dir=directory) as home:
                path = Path(home) / storage.name
                stage(f"{storage.name}: writing {size:,} notes")
                storage.write(path, batches(size, seed=seed, dimension=dimension), dimension)
                stage(f"{storage.name}: asking {size:,} notes")
                found = measured(
                    storage, path, asked=questions, base=base[storage.name], **settings
                )
                rows.append(_row(storage, size, found))
                if storage.name == "amem":
                    stage(f"{storage.name}: one more note beside {size:,}")
                    cost = writing(path, size=size, seed=seed, dimension=dimension)
                    written.append({"size": size, "milliseconds": cost})
    return {
        "rows": rows,
        "growth": {each.name: exponent(rows, each.name) for each in used},
        "base": base,
        "writing": written,
        "missing": missing,
        "paper": [{"size": size, **PAPER[size]} for size in sorted(set(sizes)) if size in PAPER],
        "setup": {
            "k": K,
            "questions": questions,
            "passes": PASSES,
            **settings,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
            "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        },
    }


def _base(storage: Storage, directory: Path | None, *, seed: int, dimension: int) -> int | None:
    """Bytes of a process that has opened the storage with hardly a note in it."""
    with tempfile.TemporaryDirectory(dir=directory) as home:
        path = Path(home) / storage.name
        storage.write(path, batches(_FEW, seed=seed, dimension=dimension), dimension)
        return measured(storage, path, asked=_FEW, seed=seed, dimension=dimension).memory


def exponent(rows: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """b of time = a · notes^b, by least squares of the logarithms of the medians.

    0: the same at any size; 1: in proportion. None with fewer than two sizes.
    """
    points = [
        (math.log(row["size"]), math.log(row["microseconds"]["p50"]))
        for row in rows
        if row["storage"] == name
    ]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def size_of(text: str) -> int:
    """The number that "1k", "100k", "1m" or "5000" stands for. Raises InvalidInputError."""
    number, unit = (text[:-1], text[-1:].lower()) if text[-1:].isalpha() else (text, "")
    if not number.isdecimal() or unit not in _UNITS or int(number) < 1:
        raise InvalidInputError(
            f"A size is a number of notes such as 1k, 5000 or 1m; got {text!r}."
        )
    return int(number) * _UNITS[unit]


_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


def _check(sizes: Sequence[int], storages: Sequence[str], questions: int) -> None:
    if not sizes or min(sizes) < 1 or questions < 1:
        raise InvalidInputError("There is at least one size, and sizes and questions are above 0.")
    if unknown := [name for name in storages if name not in STORAGES]:
        raise InvalidInputError(
            f"There is no storage {unknown[0]!r}; there are {', '.join(STORAGES)}."
        )


def _row(storage: Storage, size: int, found: Measured) -> dict[str, Any]:
    return {
        "storage": storage.name,
        "size": size,
        "disk": found.disk,
        "memory": found.memory,
        "microseconds": percentiles(found.microseconds),
        "asked": len(found.microseconds),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
