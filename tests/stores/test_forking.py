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


def test_a_forked_child_can_use_no_store_of_its_parent_and_harms_none(tmp_path: Path) -> None:
    said = python(
        """
held = threading.Event()
def hold():
    from amem_integrations.stores.edge import shards
    with shards._lock:
        held.set()
        time.sleep(1)
store, temporary = open_here(), open_here(None)
path = temporary.sync._shard.path
run(store.sync.insert([point("one")]))
thread = threading.Thread(target=hold)
thread.start()
held.wait()
if os.fork() == 0:
    signal.alarm(30)
    def own():
        other = open_here(None)
        say(run(other.sync.insert([point("one")])), run(other.sync.count(EVERYTHING)))
        other.close()
    for act in (
        lambda: run(store.sync.count(EVERYTHING)),
        lambda: run(store.sync.insert([point("two")])),
        open_here,
        own,
    ):
        try:
            act()
        except StoreError as error:
            say(type(error).__name__, "fork" in str(error))
    store.close()
    sys.exit(0)
say("status", os.wait()[1])
thread.join()
say(run(store.sync.insert([point("two")])), run(store.sync.count(EVERYTHING)))
say(path.exists(), run(temporary.sync.count(EVERYTHING)))
temporary.close()
say(path.exists())
store.close()
""",
        tmp_path,
    )
    assert said == [
        *["StoreClosedError True"] * 2,
        "StoreLockedError True",
        "frozenset() 2",
        "status 0",
        "frozenset() 3",
        "True 1",
        "False",
    ]


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
