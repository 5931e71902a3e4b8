"""Kill −9 at every step of remembering: started again, everything is there, whole, and formed.

`AMEM_KILL_ROUNDS=1000 pytest tests/faults/test_kill.py -s` is the long form.
"""

import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.writer import AT_HAND, ENTRIES, NAMESPACES, NOTES, Order, path_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")

ROUNDS = int(os.environ.get("AMEM_KILL_ROUNDS", "12"))
ROOT = Path(__file__).parents[2]
ROUNDS_A_STORE = 5
STEPS = {"fused": 1, "staged": 3, "batched": 1}
WAYS = [(mode, way) for mode in STEPS for way in AT_HAND]
PHASES = ["", "model", *ENTRIES]
# About how often a phase is entered on the way to all notes; a kill that is too late is none.
ENTERED = {"accept": NOTES, "model": NOTES, "commit": NOTES, "lease": NOTES * 3 // 4, "flush": 3}
ENTERED_BATCHED = ENTERED | {"accept": NAMESPACES, "model": NOTES // 4}


@contextmanager
def nursery() -> Generator["subprocess.Popen[str]"]:
    """A process that imports once and forks a fresh writer for each order."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.faults.writer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def carry_out(process: "subprocess.Popen[str]", order: Order) -> bool:
    """Whether the writer was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(dataclasses.asdict(order)) + "\n")
    process.stdin.flush()
    return bool(json.loads(process.stdout.readline())["killed"])


def orders(chance: random.Random, directory: Path, place: int) -> Iterator[Order]:
    """One or two kills of a writer; the first in a phase that comes in turn."""
    mode, way = WAYS[place % len(WAYS)]
    batched = mode == "batched" and way == "inline"
    for kill in range(chance.choice([1, 1, 1, 2])):
        phase = PHASES[(place + place // len(WAYS)) % len(PHASES)] if not kill else ""
        entered = (ENTERED_BATCHED if batched else ENTERED).get(phase, 1)
        yield Order(
            directory=str(directory),
            round=place,
            mode=mode,
            way=way,
            phase=phase,
            nth=chance.randint(1, entered),
            when=chance.choice(["before", "during", "during", "after"]),
            delay=chance.uniform(0.0, 0.003) if phase else chance.uniform(0.0, 0.5),
        )


def one_round(
    process: "subprocess.Popen[str]", chance: random.Random, directory: Path, place: int
) -> tuple[Counter[str], dict[str, Any]]:
    """The kills by phase, and what the writer reported that was left alone afterwards."""
    kills: Counter[str] = Counter()
    for order in orders(chance, directory, place):
        if not carry_out(process, order):
            break
        kills[order.phase or "anywhere"] += 1
    last = dataclasses.replace(order, phase=None)
    assert not carry_out(process, last), last
    report = json.loads(path_of(last, "report").read_text())
    report["calls"] = path_of(last, "calls").read_text().count("\n")
    report["order"] = last
    return kills, report


def bound(order: Order, kills: int) -> int:
    """How many model calls are right: a kill costs what was at hand, once more.

    With one question for several notes it costs that question; each forms a note at least.
    """
    return (NOTES + kills * AT_HAND[order.way]) * STEPS[order.mode]


@pytest.fixture
def quick_directory(tmp_path: Path) -> Generator[Path]:
    """In memory where there is room: what a killed process had written outlives it there too."""
    shared = Path("/dev/shm")
    roomy = shared.is_dir() and shutil.disk_usage(shared).free > 4 * 1024**3
    with tempfile.TemporaryDirectory(dir=shared if roomy else tmp_path) as directory:
        yield Path(directory)


def test_whenever_it_is_killed_a_memory_is_whole_and_finishes(quick_directory: Path) -> None:
    chance = random.Random(20261129)
    by_phase, calls = Counter[str](), Counter[str]()
    with nursery() as process:
        for place in range(ROUNDS):
            directory = quick_directory / str(place // ROUNDS_A_STORE)
            directory.mkdir(exist_ok=True)
            kills, report = one_round(process, chance, directory, place)
            what = (kills, report)
            assert report["lost"] == report["wrongs"] == [], what
            assert report["formed"] == NOTES, what
            most = bound(report["order"], kills.total())
            assert report["calls"] <= most, what
            by_phase += kills
            calls[f"{report['order'].mode} made"] += report["calls"]
            calls[f"{report['order'].mode} bound"] += most
            if place % ROUNDS_A_STORE == ROUNDS_A_STORE - 1:
                shutil.rmtree(directory)
    print(f"{ROUNDS} rounds, kills {dict(by_phase)}, model calls {dict(calls)}")  # noqa: T201
    assert by_phase.total() >= ROUNDS // 2
    assert ROUNDS < 30 or by_phase.keys() == {"anywhere", *PHASES[1:]}
