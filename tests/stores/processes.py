"""Other Python processes for tests: run to their end, kept alive, or killed."""

import contextlib
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRELUDE = """
import asyncio, gc, os, signal, sys, threading, time
from pathlib import Path
from amem_integrations.core.filters import EVERYTHING
from amem_integrations.errors import StoreError
from amem_integrations.core.io import run
from amem_integrations.stores.open import open_store
from tests.stores.points import ENCODERS, id_of, point

def open_here(location=sys.argv[1] if len(sys.argv) > 1 else None):
    return open_store(location, collection="amem", encoders=ENCODERS)

def say(*what):
    print(*what, flush=True)
"""
# From 3.12 on, forking a process with threads warns; these children fork on purpose.
_COMMAND = [sys.executable, "-W", "ignore::DeprecationWarning", "-c"]


def python(code: str, *arguments: object, timeout: float = 120) -> list[str]:
    """The lines that `code` prints; it must end well."""
    done = subprocess.run(
        [*_COMMAND, PRELUDE + code, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@contextmanager
def running(code: str, *arguments: object) -> Generator[subprocess.Popen[str]]:
    """A process that runs `code` and can be talked to; it is dead afterwards."""
    process = subprocess.Popen(
        [*_COMMAND, PRELUDE + code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def kill_after(process: subprocess.Popen[str], seconds: float) -> list[str]:
    """What the process says until it is killed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    process.kill()
    # Not `communicate`, which passes by what was read ahead for `next_line`.
    assert process.stdout is not None
    return process.stdout.read().splitlines()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return line.strip()
