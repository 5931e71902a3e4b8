"""One storage at one size: what it takes on disk and in memory, and how long retrieval takes.

Run as a module it is the process of its own in which a storage is opened and asked.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from amem_integrations.errors import StoreError
from amem_integrations.evaluation.scaling.material import Asked, questions
from amem_integrations.evaluation.scaling.storages import STORAGES, Ask, Storage

PASSES = 3
_SECONDS = 60.0
"""A storage that is slow is asked no longer than that, if it was asked _LEAST questions."""
_LEAST = 5

# What numpy multiplies with would otherwise take every core, and the others take one.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Measured:
    """disk, memory: bytes; memory is None where the platform does not tell.

    microseconds: of each question, the quickest of PASSES.
    """

    disk: int
    memory: int | None
    microseconds: tuple[float, ...]


def measured(
    storage: Storage, path: Path, *, asked: int, seed: int, dimension: int, base: int | None = None
) -> Measured:
    """What the storage that was written to `path` takes, opened in a process of its own.

    base: bytes that such a process takes with next to nothing in its storage; not counted.
    Raises StoreError where that process fails.
    """
    command = [sys.executable, "-m", __name__, storage.name, str(path)]
    arguments = [str(asked), str(seed), str(dimension)]
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **_ONE_THREAD},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise StoreError(f"{storage.name} could not be measured in {path}: {last}")
    found = json.loads(done.stdout.splitlines()[-1])
    memory: int | None = found["memory"]
    if memory is not None and base is not None:
        memory = max(memory - base, 0)
    return Measured(on_disk(path), memory, tuple(found["microseconds"]))


def on_disk(path: Path) -> int:
    """Bytes that the files of a directory take, holes not counted."""
    stats = [file.stat() for file in path.rglob("*") if file.is_file()]
    return sum(_taken(stat) for stat in stats)


def _taken(stat: os.stat_result) -> int:
    # Windows does not tell blocks.
    blocks: int | None = getattr(stat, "st_blocks", None)
    return stat.st_size if blocks is None else blocks * 512


def resident() -> int | None:
    """Bytes of this process that are in memory; None where the platform does not tell."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "darwin":
        shown = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True, check=True
        )
        return int(shown.stdout) * 1024
    return None


def timed(ask: Ask, asked: Sequence[Asked]) -> list[float]:
    """The microseconds of each question, until it has taken too long."""
    ask(asked[0])
    times: list[float] = []
    started = time.perf_counter()
    for question in asked:
        passes: list[float] = []
        for _ in range(PASSES):
            begun = time.perf_counter()
            ask(question)
            passes.append((time.perf_counter() - begun) * 1e6)
        times.append(min(passes))
        if len(times) >= _LEAST and time.perf_counter() - started > _SECONDS:
            break
    return times


def main(arguments: Sequence[str]) -> None:
    name, path, count, seed, dimension = arguments
    asked = questions(int(count), seed=int(seed), dimension=int(dimension))
    ask = STORAGES[name].opened(Path(path), asked)
    times = timed(ask, asked)
    sys.stdout.write(json.dumps({"memory": resident(), "microseconds": times}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
