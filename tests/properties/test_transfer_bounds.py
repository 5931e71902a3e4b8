"""What is as large as a line may be is imported, goes on living, and its export is read again."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory
from amem_integrations.core.note import MAX_CONTEXT_CHARS, MAX_KEYWORDS, MAX_TAGS
from amem_integrations.core.values import MAX_TERM_CHARS
from tests.lifecycle.engines import changed
from tests.support import chat_model, open_memory

EXAMPLES = int(os.environ.get("AMEM_TEST_EXAMPLES", "12"))
HIGHEST = 2**53 - 1
COUNTS = st.sampled_from([0, 1, 2**32, HIGHEST - 1, HIGHEST])
# Four bytes each, as long as may be.
LETTERS = st.sampled_from(["x", "é", "素", "🙂"])
TIMES = st.sampled_from(
    ["0001-01-01T00:00:00+00:00", "2026-03-01T09:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"]
)


EXTREMES = st.fixed_dictionaries(
    {
        "letter": LETTERS,
        "version": st.sampled_from([3, 2**32, 2**32 + 1, HIGHEST - 1, HIGHEST]),
        "count": COUNTS,
        "occasions": st.sampled_from([0, 8, 500]),
        "created_at": TIMES,
        "sequence": st.sampled_from([-(2**63), 2**63 - 1]),
        "tier": st.sampled_from(["short", "long"]),
        "has_history": st.booleans(),
    }
)


def extreme_lines(lines: list[str], drawn: dict[str, Any]) -> list[str]:
    """The lines with one note as large as may be."""
    letter, count, last = drawn["letter"], drawn["count"], json.loads(lines[1])["revisions"]
    terms = [letter * (MAX_TERM_CHARS - 2) + f"{n:02d}" for n in range(MAX_TAGS)]
    life: dict[str, Any] = dict.fromkeys(("clean", "conflicting", "confirmations"), count)
    life["occasions"] = [letter * 1000 + str(n) for n in range(drawn["occasions"])]
    last[-1]["version"] = drawn["version"]
    return changed(
        lines,
        1,
        version=drawn["version"],
        attempts=count,
        life=life | {"supports": count},
        keywords=terms[:MAX_KEYWORDS],
        tags=terms,
        context=letter * MAX_CONTEXT_CHARS,
        created_at=drawn["created_at"],
        speaker=letter * 1024,
        session=letter * 1024,
        sequence=drawn["sequence"],
        tier=drawn["tier"],
        revisions=last if drawn["has_history"] else [],
    )


@pytest.fixture(scope="module")
def first() -> list[str]:
    with open_memory(model=chat_model()) as memory:
        memory.add("The redis cache", namespace="a", key="k")
        memory.add("Redis eviction", namespace="a")
        return list(memory.admin.export("a"))


@pytest.fixture(scope="module")
def living() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model()) as memory:
        yield memory


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=EXTREMES, trust=st.booleans())
def test_whatever_an_import_takes_can_be_changed_and_exported_and_imported(
    first: list[str], living: AgenticMemory, drawn: dict[str, Any], trust: bool
) -> None:
    lines = extreme_lines(first, drawn)
    try:
        assert living.admin.import_(lines, trust=trust).complete
        _change(living)
        round_ = living.admin.import_(list(living.admin.export("a")), namespace="b", trust=True)
        assert (round_.notes, round_.complete) == (3, True)
        _change(living, "b")
        again = list(living.admin.export("b"))
        assert living.admin.import_(again, namespace="c", trust=trust).complete
        assert living.admin.check() == []
    finally:
        for namespace in living.namespaces():
            living.admin.forget_namespace(namespace)


def _change(memory: AgenticMemory, namespace: str = "a") -> None:
    """What raises versions and counts."""
    memory.lifecycle.feedback(
        [note.id for note in memory.recent(namespace=namespace)], session="s", namespace=namespace
    )
    memory.update(key="k", namespace=namespace, content=f"The redis cache in {namespace}")
    memory.add("Another one about redis", namespace=namespace)
    memory.lifecycle.maintain(namespace)
    memory.revert(memory.add("Another one about redis", namespace=namespace))
    memory.admin.retry()
