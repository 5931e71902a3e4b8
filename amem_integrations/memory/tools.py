"""What the memory tools of an agent do and what a model reads of it, whoever offers the tools.

Adapters give them names and schemas, and say whose notes they are. A model reads its own mistakes
and an unreachable memory as text.
"""

import logging
import math
from dataclasses import replace
from typing import Any

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.quotation import quote_text
from amem_integrations.core.values import estimate_tokens
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.formation.pipeline import Formation, have_formed
from amem_integrations.memory.operations import add, require
from amem_integrations.memory.search import find
from amem_integrations.memory.turns import add_turn
from amem_integrations.memory.wiring import Adapter, MemoryPart
from amem_integrations.recall.prompt import pack
from amem_integrations.revisions.forget import forget

# Ranks depend a little on `k`, so all pages are cut from the same list.
_WINDOW = 50

_NOTHING = "Nothing is remembered about that."
_LEFT_OUT = "{} more did not fit here; ask with a smaller limit, or with an offset."
_CUT = " … (the rest did not fit)"
_UNAVAILABLE = "The memory cannot be reached now; go on without it."


class MemoryTools(Adapter):
    """Base of the tools over one memory."""

    def __init__(
        self, memory: MemoryPart, formation: Formation | None, token_budget: int, **recall: Any
    ) -> None:
        super().__init__(memory)
        self._formation: Formation = formation or self._wiring.formation
        self._token_budget = token_budget
        self._recall = recall

    async def _find(
        self,
        io: IO,
        namespace: Namespace,
        query: str,
        limit: int = 10,
        offset: int = 0,
        filter: dict[str, Any] | None = None,
    ) -> str:
        """Return the notes found, packed; or that there are none."""
        hits = await find(
            self._wiring,
            io,
            query,
            namespace=namespace,
            k=_WINDOW * math.ceil((offset + limit) / _WINDOW),
            filter=filter,
            page=slice(offset, offset + limit),
            **self._recall,
        )
        hits = [self._fitting(hit) for hit in hits]
        packed = pack(hits, self._token_budget, ids=True)
        self._wiring.recalls.shown(namespace, hits, packed)
        left_out = sum(hit.note.id not in packed for hit in hits)
        if left_out:
            packed = f"{packed}\n{_LEFT_OUT.format(left_out)}".strip()
        return packed or _NOTHING

    def _fitting(self, hit: Hit) -> Hit:
        """Return a hit of which one that fills the budget by itself has the beginning only."""
        content, most = hit.note.content, self._token_budget // 2
        if len(content) <= most or estimate_tokens(content) <= most:
            return hit
        start = content[: 4 * most]
        while estimate_tokens(start) > most:
            start = start[: len(start) * most // estimate_tokens(start)]
        return replace(hit, note=replace(hit.note, content=start + _CUT))

    async def _create(
        self, io: IO, namespace: Namespace, content: str | None, supersedes: str | None = None
    ) -> str:
        """Remember a text, by statistics alone if it repeats a note or says nothing."""
        item = _item(content)
        if supersedes:
            item["supersedes"] = supersedes
            [note] = await add(self._wiring, io, [item], namespace, self._formation)
            return f"Created memory {note.id}"
        result = await add_turn(self._wiring, io, item, namespace, self._formation)
        ids = ", ".join(note.id for note in result.notes)
        return result.summary or f"Created memory {ids}"

    async def _update(self, io: IO, namespace: Namespace, id: str, content: str | None) -> str:
        note = await require(io, id, namespace)
        item = {**_item(content), "key": note.key}
        await add(self._wiring, io, [item], namespace, self._formation)
        return f"Updated memory {id}"

    async def _delete(self, io: IO, namespace: Namespace, id: str) -> str:
        """Forget a note, and those that were merged with it."""
        await require(io, id, namespace)
        forgotten = await forget(io, id, namespace, self._wiring.analyst_name, duplicates=True)
        unformed = {namespace: forgotten.unformed}
        await have_formed(self._wiring, io, self._formation, unformed=unformed)
        return f"Deleted memory {id}"

    def _refusal(self, error: Exception, log: logging.Logger, adapter: str, tool: str) -> str:
        """Return what a model reads of an error; log and count what is not its mistake."""
        match error:
            case NoteNotFoundError():
                return "There is no memory with this id."
            case InvalidInputError():
                return quote_text(str(error))
            case _:
                self._report(log, f"{adapter}.{tool}.failed", f"The tool {tool} failed", error)
                return _UNAVAILABLE


def _item(content: str | None) -> dict[str, Any]:
    if not content:
        raise InvalidInputError("There is nothing to remember: content is missing.")
    # It is the model that writes it.
    return {"content": content, "source": "assistant"}
