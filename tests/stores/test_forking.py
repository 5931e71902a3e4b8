"""The embedded engine and forked processes: nothing hangs, and nothing is torn."""

import os
from pathlib import Path

import pytest

from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.stores.open import open_store
from tests.stores.points import ENCODERS, id_of
from tests.stores.processes import python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")


def test_a_store_used_in_a_forked_child_says_so_instead_of_hanging(tmp_path: Path) -> None:
    said = python(
        """
store = open_here()
run(store.sync.insert([point("one")]))
run(store.sync.count(EVERYTHING))
if os.fork() == 0:
    signal.alarm(20)
    for operation in (store.sync.count(EVERYTHING), store.sync.insert([point("two")])):
        try:
            run(operation)
        except StoreError as error:
            say(type(error).__name__, error)
    store.close()
    os._exit(0)
say("status", os.wait()[1])
say(run(store.sync.insert([point("two")])), run(store.sync.count(EVERYTHING)))
store.close()
""",
        tmp_path,
    )
    assert [line.split()[0] for line in said[:2]] == ["StoreClosedError"] * 2
    assert "fork" in said[0]
    assert said[2:] == ["status 0", "frozenset() 3"]


def test_a_forked_child_that_ends_leaves_the_store_of_its_parent_whole(tmp_path: Path) -> None:
    # The engine's destructor writes; run in the child, it would tear the parent's files.
    said = python(
        """
store = open_here()
for n in range(100):
    run(store.sync.insert([point(n, [[1.0] * 4], content="x" * 200)]))
reading, writing = os.pipe()
if os.fork() == 0:
    os.close(writing)
    os.read(reading, 1)
    del store
    gc.collect()
    sys.exit(0)
for n in range(100, 200):
    run(store.sync.insert([point(n, [[1.0] * 4], content="x" * 200)]))
run(store.sync.flush())
for n in range(200, 300):
    run(store.sync.insert([point(n, [[1.0] * 4], content="x" * 200)]))
os.close(writing)
say("status", os.wait()[1])
for n in range(300, 400):
    run(store.sync.insert([point(n, [[1.0] * 4], content="x" * 200)]))
if os.fork() == 0:
    sys.exit(0)
os.wait()
os._exit(0)
""",
        tmp_path,
    )
    assert said == ["status 0"]
    store = open_store(tmp_path, collection="amem", encoders=ENCODERS)
    found = run(store.sync.scroll(match("kind", "note"), limit=1000))
    assert [each.id for each in found] == [id_of(n) for n in range(400)]
    store.close()


def test_a_forked_child_opens_stores_of_its_own_but_not_the_one_its_parent_holds(
    tmp_path: Path,
) -> None:
    said = python(
        """
held = threading.Event()
def hold():
    from amem_integrations.stores.edge import shards
    with shards._lock:
        held.set()
        time.sleep(1)
store = open_here()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
if os.fork() == 0:
    signal.alarm(30)
    try:
        open_here()
    except StoreError as error:
        say(type(error).__name__)
    other = open_here(None)
    say(run(other.sync.insert([point("one")])), run(other.sync.count(EVERYTHING)))
    other.close()
    sys.exit(0)
say("status", os.wait()[1])
thread.join()
store.close()
""",
        tmp_path,
    )
    assert said == ["StoreLockedError", "frozenset() 2", "status 0"]


def test_the_end_of_a_forked_child_keeps_the_temporary_store_of_its_parent() -> None:
    said = python(
        """
store = open_here(None)
path = store.sync._shard.path
if os.fork() == 0:
    sys.exit(0)
os.wait()
say(path.exists(), run(store.sync.count(EVERYTHING)))
store.close()
say(path.exists())
"""
    )
    assert said == ["True 1", "False"]
