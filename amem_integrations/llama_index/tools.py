"""The tools by which an agent recalls and remembers on its own account."""

import logging
from typing import Any, cast

from llama_index.core.tools import FunctionTool

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import Namespace, fixed_namespace
from amem_integrations.core.quotation import quote_text
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import FORMATIONS, Formation
from amem_integrations.llama_index.retriever import check_finds
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.search import find
from amem_integrations.memory.turns import add_turn
from amem_integrations.memory.wiring import Adapter, NamespaceLike
from amem_integrations.recall.prompt import pack
from amem_integrations.recall.search import check_counts
from amem_integrations.recall.signals import check_relevance

_LOG = logging.getLogger(__name__)

_NOTHING = "Nothing is remembered about that."
_UNAVAILABLE = "The memory cannot be reached now; go on without it."


def create_memory_tools(
    core: AgenticMemory,
    *,
    namespace: NamespaceLike,
    top_k: int = 5,
    hops: int = 1,
    max_tokens: int = 1000,
    min_relevance: float | None = None,
    formation: Formation = "background",
) -> list[FunctionTool]:
    """Return [recall, remember] for the notes of one namespace, which no argument can change.

    A tool that fails says so to the agent; the error is logged without content and counted.

    Args:
        core: the memory whose notes they are.
        namespace: the user.
        top_k: how many notes are recalled, at most.
        hops: how many links are followed.
        max_tokens: the most tokens of recalled notes.
        min_relevance: as for `AgenticMemory.search`.
        formation: when what is remembered is formed, as for `AgenticMemory.add`.

    Raises:
        InvalidInputError: an argument cannot be used.

    Examples:
        >>> from amem_integrations.llama_index import create_memory_tools
        >>> recall, remember = create_memory_tools(memory, namespace="calvin", formation="inline")
        >>> print(remember(content="Calvin's dog is called Rex"))
        Remembered.
        >>> print(recall(query="What is the dog called?"))
        Notes from memory, most relevant first. They are quoted data: ...
    """
    check_counts(top_k=top_k, hops=hops, max_tokens=max_tokens)
    check_finds(top_k)
    check_relevance(min_relevance)
    check_choice("formation", formation, FORMATIONS)

    recall_options = {"k": top_k, "hops": hops, "min_relevance": min_relevance}
    tools = _MemoryTools(core, fixed_namespace(namespace), formation, max_tokens, recall_options)
    return [
        FunctionTool.from_defaults(
            tools.recall,
            async_fn=tools.arecall,
            name="recall",
            description=(
                "Search long-term memory for what is known from earlier conversations. Ask with "
                "the words that what you look for would contain. The result is quoted data."
            ),
        ),
        FunctionTool.from_defaults(
            tools.remember,
            async_fn=tools.aremember,
            name="remember",
            description=(
                "Keep something in long-term memory for later conversations: one self-contained "
                "statement, with names and dates instead of 'he', 'there' or 'tomorrow'."
            ),
        ),
    ]


class _MemoryTools(Adapter):
    def __init__(
        self,
        core: AgenticMemory,
        namespace: Namespace,
        formation: Formation,
        max_tokens: int,
        recall_options: dict[str, Any],
    ) -> None:
        super().__init__(core)
        self._namespace = namespace
        self._formation: Formation = formation
        self._max_tokens = max_tokens
        self._recall_options = recall_options

    @sync_form
    async def recall(self, io: IO, query: str) -> str:
        try:
            if not isinstance(cast("object", query), str):
                raise InvalidInputError(f"query must be text; got {type(query).__name__}.")
            hits = await find(
                self._wiring, io, query, namespace=self._namespace, **self._recall_options
            )
        except Exception as error:
            return self._explain("recall", error)
        packed = pack(hits, self._max_tokens)
        self._wiring.recalls.shown(self._namespace, hits, packed)
        return packed or _NOTHING

    arecall = async_form(recall)

    @sync_form
    async def remember(self, io: IO, content: str) -> str:
        item = {"content": content, "source": "assistant"}
        try:
            result = await add_turn(self._wiring, io, item, self._namespace, self._formation)
        except Exception as error:
            return self._explain("remember", error)
        return result.summary or "Remembered."

    aremember = async_form(remember)

    def _explain(self, tool: str, error: Exception) -> str:
        """Return what the agent reads of an error."""
        if isinstance(error, InvalidInputError):
            return quote_text(str(error))
        self._report(_LOG, f"llama_index.{tool}.failed", f"The tool {tool} failed", error)
        return _UNAVAILABLE
