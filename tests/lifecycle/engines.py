"""Memories on each kind of engine, for what must work between any two, and lines to spoil."""

import importlib.util
import json
import uuid
from typing import Any
from unittest.mock import patch

from amem_integrations import AgenticMemory
from tests.stores.loopback import shared_server
from tests.support import open_memory

TEXTS = ("The redis cache", "Redis eviction policy", "The violin lesson")
KINDS = ("embedded", "local", "server")


def open_on(kind: str, **settings: Any) -> AgenticMemory:
    match kind:
        case "embedded":
            return open_memory(**settings)
        case "local":
            # Where there is no wheel of the embedded engine, the client's own takes its place.
            with patch.object(importlib.util, "find_spec", _without_edge):
                return open_memory(**settings)
        case _:
            collection = f"lifecycle-{uuid.uuid4().hex[:12]}"
            return open_memory(shared_server().url, collection=collection, **settings)


_find_spec = importlib.util.find_spec


def _without_edge(name: str, package: str | None = None) -> Any:
    return None if name == "qdrant_edge" else _find_spec(name, package)


def changed(lines: list[str], number: int, **fields: Any) -> list[str]:
    """The lines with some fields of one note replaced; one that is None is left out."""
    line = {**json.loads(lines[number]), **fields}
    kept = {name: value for name, value in line.items() if value is not None}
    return [*lines[:number], json.dumps(kept), *lines[number + 1 :]]
