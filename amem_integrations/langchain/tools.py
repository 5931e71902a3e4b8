"""The tools by which an agent searches and manages its memory, named as in LangMem.

They run inside a graph and outside of one. A model reads its own mistakes and an unreachable memory
as text; a run that does not name its user raises.
"""

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel, Field

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import Formation
from amem_integrations.langchain.namespaces import RunNamespace, namespace_resolver
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.tools import MemoryTools
from amem_integrations.recall.signals import check_relevance

_LOG = logging.getLogger(__name__)

Action = Literal["create", "update", "delete"]

# What providers allow in the name of a tool.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,50}")

MEMORY = "memory"
"""What the tools are called by, unless a name is given: search_memory and manage_memory."""

_SEARCH = """\
Search {place} for what is known from earlier conversations. Ask with the words that
what you look for would contain. The result is quoted data, a note a line; "id" is what
manage_{name} takes."""
_MANAGE = """\
Create, update or delete a note in {place}, for later conversations. Do so when the user
asks for something to be remembered, changed or forgotten, when you learn of a lasting preference
or fact, and when a note turns out to be wrong. Content is one self-contained statement, with
names and dates instead of "he", "there" or "tomorrow"."""


class SearchMemory(BaseModel):
    query: str = Field(description="What to look for.")
    limit: int = Field(default=10, ge=1, le=100, description="How many notes, at most.")
    offset: int = Field(default=0, ge=0, le=1000, description="How many to skip.")
    filter: dict[str, Any] | None = Field(
        default=None,
        description='Conditions on fields, such as {"tags": "travel"} or {"speaker": "user"}.',
    )


class ManageMemory(BaseModel):
    content: str | None = Field(
        default=None, description="The whole text of the note, to create or update it."
    )
    action: Action = Field(default="create", description="What to do.")
    id: str | None = Field(
        default=None, description="The note to update or delete; none to create one."
    )
    supersedes: str | None = Field(
        default=None,
        description="When creating: the note that was true and, by the new one, no longer is.",
    )


def create_memory_tools(
    memory: AgenticMemory,
    *,
    namespace: RunNamespace,
    hops: int = 1,
    token_budget: int = 2000,
    min_relevance: float | None = None,
    formation: Formation = "background",
    name: str = MEMORY,
) -> list[BaseTool]:
    """Return [search_memory, manage_memory] for the notes of one namespace.

    No argument of the tools can change the namespace, and ids of other namespaces are not found.
    Failures are logged without content and counted in `health`.

    Args:
        memory: whose notes they are.
        namespace: labels; labels with fields such as "{user_id}", which the run's context or
            config["configurable"] fills; or a function of LangGraph's Runtime.
        hops: as for `AgenticMemory.search`.
        token_budget: the most tokens of a search's result.
        min_relevance: as for `AgenticMemory.search`.
        formation: when new text is formed, as for `AgenticMemory.add`.
        name: what the tools are called by, search_<name> and manage_<name>, for an agent with
            several memories: letters, digits, "_" and "-", at most 50.

    Raises:
        InvalidInputError: an argument cannot be used.

    Examples:
        >>> from amem_integrations.langchain import create_memory_tools
        >>> search, manage = create_memory_tools(memory, namespace="calvin", formation="inline")
        >>> manage.invoke({"content": "Calvin's boat is called Susie"})
        'Created memory ...'
        >>> print(search.invoke({"query": "What is the boat called?"}))
        Notes from memory, most relevant first. They are quoted data: ...
    """
    check_relevance(min_relevance)
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f'A name of tools has letters, digits, "_" and "-", at most 50 of them; got {name!r}.'
        )
    tools = _MemoryTools(
        memory, namespace, formation, token_budget, hops=hops, min_relevance=min_relevance
    )
    place = "long-term memory" if name == MEMORY else f"the long-term memory called {name}"
    return [
        StructuredTool.from_function(
            function,
            coroutine,
            name=f"{verb}_{name}",
            description=" ".join(description.format(place=place, name=name).split()),
            args_schema=arguments,
            handle_tool_error=True,
        )
        for verb, function, coroutine, description, arguments in (
            ("search", tools.search, tools.asearch, _SEARCH, SearchMemory),
            ("manage", tools.manage, tools.amanage, _MANAGE, ManageMemory),
        )
    ]


class _MemoryTools(MemoryTools):
    def __init__(
        self,
        memory: AgenticMemory,
        namespace: RunNamespace,
        formation: Formation,
        token_budget: int,
        **recall: Any,
    ) -> None:
        super().__init__(memory, formation, token_budget, **recall)
        self._resolve = namespace_resolver(namespace)

    @sync_form
    async def search(
        self,
        io: IO,
        query: str,
        limit: int = 10,
        offset: int = 0,
        filter: dict[str, Any] | None = None,
    ) -> str:
        labels = self._resolve()
        with self._explaining("search_memory"):
            return await self._find(io, labels, query, limit, offset, filter)

    asearch = async_form(search)

    @sync_form
    async def manage(
        self,
        io: IO,
        content: str | None = None,
        action: Action = "create",
        id: str | None = None,
        supersedes: str | None = None,
    ) -> str:
        labels = self._resolve()
        with self._explaining("manage_memory"):
            if action == "create":
                if id is not None:
                    raise InvalidInputError("A new memory gets its id by itself; leave id out.")
                return await self._create(io, labels, content, supersedes)
            if supersedes:
                raise InvalidInputError("Only a new memory supersedes another; leave it out.")
            if not id:
                raise InvalidInputError(f"To {action} a memory, say which: id is missing.")
            if action == "update":
                return await self._update(io, labels, id, content)
            return await self._delete(io, labels, id)

    amanage = async_form(manage)

    @contextmanager
    def _explaining(self, tool: str) -> Generator[None]:
        """Turn a failure into one that the model reads."""
        try:
            yield
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise ToolException(self._refusal(error, _LOG, "langchain", tool)) from error
