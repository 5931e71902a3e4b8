"""Kill −9 in the middle of `add`: what was acknowledged is there, whole, when reopened.

`AMEM_KILL_ROUNDS=1000 pytest tests/faults/test_kill.py` is the long form.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amem_integrations import Status
from tests.support import again, chat_model, open_memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")

ROUNDS = int(os.environ.get("AMEM_KILL_ROUNDS", "50"))
ROOT = Path(__file__).parents[2]

# Imports once and forks a fresh writer for each line it reads; the store is opened in the
# writer only.
NURSERY = """
import os, sys
import amem_integrations.formation.graph
from tests.support import chat_model, open_memory

for line in sys.stdin:
    number = line.strip()
    writer = os.fork()
    if writer == 0:
        acknowledged = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        memory = open_memory(sys.argv[1], model=chat_model(latency=0.001), neighbours=4)
        os.write(acknowledged, b"ready\\n")
        for n in range(100_000):
            note = memory.add(f"Remark mark{number}x{n} on the redis cache", key=f"{number}-{n}")
            os.write(acknowledged, note.id.encode() + b"\\n")
    print(writer, flush=True)
    os.waitpid(writer, 0)
    print("dead", flush=True)
"""


def acknowledged_before_kills(directory: Path) -> list[str]:
    """The ids acknowledged by ROUNDS writers, each killed at a random instant."""
    chance = random.Random(20261129)
    log = directory / "acknowledged"
    log.touch()
    nursery = subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(directory / "store"), str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    for number in range(ROUNDS):
        nursery.stdin.write(f"{number}\n")
        nursery.stdin.flush()
        writer = int(nursery.stdout.readline())
        if number % 5:
            # Most are killed while they write, some while they are still opening the store.
            lines = log.read_text().count("\n") + number % 4
            deadline = time.monotonic() + 30
            while log.read_text().count("\n") <= lines and time.monotonic() < deadline:
                time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.15))
        os.kill(writer, signal.SIGKILL)
        assert nursery.stdout.readline() == "dead\n"
    nursery.stdin.close()
    nursery.wait()
    nursery.stdout.close()
    return [line for line in log.read_text().splitlines() if len(line) == 36]


def test_no_acknowledged_note_is_lost_by_a_kill_at_any_instant(tmp_path: Path) -> None:
    acknowledged = acknowledged_before_kills(tmp_path)
    assert len(acknowledged) >= ROUNDS // 2
    assert len(set(acknowledged)) == len(acknowledged)
    with open_memory(tmp_path / "store", model=chat_model()) as memory:
        assert memory.check() == []
        for note_id in acknowledged:
            note = again(memory, note_id)
            assert note.content.startswith("Remark ")
            assert note.status in (Status.FORMED, Status.RAW)
        for note_id in random.Random(1).sample(acknowledged, 10):
            note = again(memory, note_id)
            assert note_id in [hit.note.id for hit in memory.search(note.content, k=5)]
        memory.resume()
        assert memory.health().get("raw", 0) == 0
        assert memory.check() == []
