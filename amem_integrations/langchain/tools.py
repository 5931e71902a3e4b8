"""Tools by which an agent searches and manages its memory, under the names LangMem gave them.

They run inside a graph and outside of one. What a model got wrong, and a memory that cannot be
reached, it is told in words; a run that does not say who its user is gets an error.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel, Field

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.errors import InvalidInputError, NoteNotFoundError, loggable
from amem_integrations.langchain.identity import Identity, namespace_resolver
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import add, require
from amem_integrations.memory.pipeline import Formation, Wiring, have_formed
from amem_integrations.memory.search import find
from amem_integrations.recall.options import check_relevance
from amem_integrations.recall.prompt import pack
from amem_integrations.revisions.forget import forget

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

Action = Literal["create", "update", "delete"]

# Ranks depend a little on how many notes are asked for, so pages are cut from the same list.
_WINDOW = 50

_NOTHING = "Nothing is remembered about that."
_LEFT_OUT = "{} more did not fit here; ask with a smaller limit, or with an offset."
_UNAVAILABLE = "The memory cannot be reached now; go on without it."

_SEARCH = """\
Search long-term memory for what is known from earlier conversations. Ask with the words that
what you look for would contain. The result is quoted data, a note a line; "id" is what
manage_memory takes."""
_MANAGE = """\
Create, update or delete a note in long-term memory, for later conversations. Do so when the user
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
    namespace: Identity,
    hops: int = 1,
    token_budget: int = 2000,
    min_relevance: float | None = None,
    formation: Formation = "background",
) -> list[BaseTool]:
    """[search_memory, manage_memory] for the notes of one namespace.

    No argument of the tools can change the namespace, and ids of other namespaces are not found.
    Failures are logged without content and counted in `health`.

    Args:
        memory: whose notes they are.
        namespace: labels; labels with fields such as "{user_id}", which the run's context or
            config["configurable"] fills; or a function of LangGraph's Runtime.
        hops: as for `AgenticMemory.search`.
        token_budget: tokens that a search's result may have, at most.
        min_relevance: as for `AgenticMemory.search`.
        formation: when new text is formed, as for `AgenticMemory.add`.

    Raises:
        InvalidInputError: an argument cannot be used.

    Examples:
        >>> from amem_integrations.langchain import create_memory_tools
        >>> search, manage = create_memory_tools(memory, namespace="calvin", formation="inline")
        >>> manage.invoke({"content": "Calvin's boat is called Susie"})
        'Created memory ...'
        >>> print(search.invoke({"query": "What is the boat called?"}))
        Notes from memory, most relevant first, one JSON object a line. ...
    """
    resolve = namespace_resolver(namespace)
    check_relevance(min_relevance)

    def look(query: str, limit: int, offset: int, filter: dict[str, Any] | None) -> Any:
        async def found(wiring: Wiring, io: IO, labels: Namespace) -> str:
            k = _WINDOW * math.ceil((offset + limit) / _WINDOW)
            hits = await find(
                wiring,
                io,
                query,
                namespace=labels,
                k=k,
                hops=hops,
                filter=filter,
                min_relevance=min_relevance,
            )
            page = hits[offset : offset + limit]
            packed = pack(page, token_budget, ids=True)
            wiring.recalls.shown(labels, page, packed)
            left_out = sum(hit.note.id not in packed for hit in page)
            if not left_out:
                return packed or _NOTHING
            return f"{packed}\n{_LEFT_OUT.format(left_out)}".strip()

        return _guarded("search_memory", resolve(), found)

    def manage(content: str | None, action: Action, id: str | None, supersedes: str | None) -> Any:
        async def managed(wiring: Wiring, io: IO, labels: Namespace) -> str:
            if action == "create":
                if id is not None:
                    raise InvalidInputError("A new memory gets its id by itself; leave id out.")
                item = {**_item(content), "supersedes": supersedes or None}
                [note] = await add(wiring, io, [item], labels, formation)
                return f"Created memory {note.id}"
            if supersedes:
                raise InvalidInputError("Only a new memory supersedes another; leave it out.")
            if not id:
                raise InvalidInputError(f"To {action} a memory, say which: id is missing.")
            held = await require(io, id, labels)
            if action == "update":
                await add(wiring, io, [{**_item(content), "key": held.key}], labels, formation)
                return f"Updated memory {id}"
            forgotten = await forget(io, id, labels, wiring.analyst_name)
            wiring.recalls.drop(labels)
            await have_formed(wiring, io, formation, unformed={labels: forgotten.unformed})
            return f"Deleted memory {id}"

        return _guarded("manage_memory", resolve(), managed)

    def search_memory(
        query: str, limit: int = 10, offset: int = 0, filter: dict[str, Any] | None = None
    ) -> str:
        return memory.perform(look(query, limit, offset, filter))

    async def asearch_memory(
        query: str, limit: int = 10, offset: int = 0, filter: dict[str, Any] | None = None
    ) -> str:
        return await memory.aperform(look(query, limit, offset, filter))

    def manage_memory(
        content: str | None = None,
        action: Action = "create",
        id: str | None = None,
        supersedes: str | None = None,
    ) -> str:
        return memory.perform(manage(content, action, id, supersedes))

    async def amanage_memory(
        content: str | None = None,
        action: Action = "create",
        id: str | None = None,
        supersedes: str | None = None,
    ) -> str:
        return await memory.aperform(manage(content, action, id, supersedes))

    return [
        _tool(search_memory, asearch_memory, _SEARCH, SearchMemory),
        _tool(manage_memory, amanage_memory, _MANAGE, ManageMemory),
    ]


def _tool(
    function: Callable[..., str],
    coroutine: Callable[..., Awaitable[str]],
    description: str,
    arguments: type[BaseModel],
) -> BaseTool:
    return StructuredTool.from_function(
        function,
        coroutine,
        name=function.__name__,
        description=" ".join(description.split()),
        args_schema=arguments,
        handle_tool_error=True,
    )


def _item(content: str | None) -> dict[str, Any]:
    if not content:
        raise InvalidInputError("There is nothing to remember: content is missing.")
    return {"content": content}


def _guarded(
    tool: str, labels: Namespace, operation: Callable[[Wiring, IO, Namespace], Awaitable[T]]
) -> Callable[[Wiring, IO], Any]:
    """The operation, so that what fails in it is something the model can be told."""

    async def guarded(wiring: Wiring, io: IO) -> T:
        try:
            return await operation(wiring, io, labels)
        except GraphBubbleUp:
            raise
        except NoteNotFoundError as error:
            raise ToolException("There is no memory with this id.") from error
        except InvalidInputError as error:
            raise ToolException(str(error)) from error
        except Exception as error:
            _LOG.warning("The tool %s failed (%s).", tool, loggable(error))
            _LOG.debug("Why.", exc_info=error)
            wiring.settings.ledger.count(f"langchain.{tool}.failed")
            raise ToolException(_UNAVAILABLE) from error

    return guarded
