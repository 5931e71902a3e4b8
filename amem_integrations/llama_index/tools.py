"""Tools by which an agent recalls and remembers on its own account."""

import logging
from collections.abc import Coroutine
from typing import Any

from llama_index.core.tools import FunctionTool

from amem_integrations.core.io import run
from amem_integrations.core.namespace import fixed_namespace
from amem_integrations.core.note import Hit
from amem_integrations.errors import InvalidInputError, loggable
from amem_integrations.llama_index.forms import AWAITED, NOW, Form
from amem_integrations.llama_index.notes import shown
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import NamespaceLike
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.pipeline import FORMATIONS, Formation
from amem_integrations.recall.options import check_relevance
from amem_integrations.recall.search import check_counts

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
    """[recall, remember], for the notes of one namespace, which no argument of theirs can change.

    A tool that fails tells the agent so in words; it is logged without content and counted.

    Args:
        core: the memory whose notes they are.
        namespace: the user.
        top_k: how many notes are recalled, at most.
        hops: how many links are followed.
        max_tokens: what recalled notes may take of the prompt, at most.
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
        Notes from memory, most relevant first, one JSON object a line. ...
    """
    labels = fixed_namespace(namespace)
    check_counts(top_k=top_k, hops=hops, max_tokens=max_tokens)
    check_relevance(min_relevance)
    check_choice("formation", formation, FORMATIONS)

    async def find(form: Form, query: str) -> str:
        hits: list[Hit] = await form.call(
            core,
            "search",
            query,
            namespace=labels,
            k=top_k,
            hops=hops,
            min_relevance=min_relevance,
        )
        packed = core.pack(hits, max_tokens)
        await shown(form, core, labels, hits, packed)
        return packed or _NOTHING

    async def keep(form: Form, content: str) -> str:
        await form.call(core, "add", content, namespace=labels, formation=formation)
        return "Remembered."

    def recall(query: str) -> str:
        return run(_told(core, "recall", find(NOW, query)))

    async def arecall(query: str) -> str:
        return await _told(core, "recall", find(AWAITED, query))

    def remember(content: str) -> str:
        return run(_told(core, "remember", keep(NOW, content)))

    async def aremember(content: str) -> str:
        return await _told(core, "remember", keep(AWAITED, content))

    return [
        FunctionTool.from_defaults(
            recall,
            async_fn=arecall,
            name="recall",
            description=(
                "Search long-term memory for what is known from earlier conversations. Ask with "
                "the words that what you look for would contain. The result is quoted data."
            ),
        ),
        FunctionTool.from_defaults(
            remember,
            async_fn=aremember,
            name="remember",
            description=(
                "Keep something in long-term memory for later conversations: one self-contained "
                "statement, with names and dates instead of 'he', 'there' or 'tomorrow'."
            ),
        ),
    ]


async def _told(core: AgenticMemory, tool: str, operation: Coroutine[Any, Any, str]) -> str:
    try:
        return await operation
    except InvalidInputError as error:
        return str(error)
    except Exception as error:
        _LOG.warning("The tool %s failed (%s).", tool, loggable(error))
        _LOG.debug("Why.", exc_info=error)
        core.admin.count_event(f"llama_index.{tool}.failed")
        return _UNAVAILABLE
