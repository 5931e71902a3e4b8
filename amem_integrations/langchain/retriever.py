"""AMemRetriever: notes as documents, for whatever in LangChain takes a retriever."""

from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, field_validator

from amem_integrations.core.hit import Hit
from amem_integrations.core.namespace import Namespace, fixed_namespace
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import hit_metadata, least_relevance

# What one `invoke` may override.
_PER_CALL = ("k", "hops", "filter", "min_relevance")


class AMemRetriever(BaseRetriever):
    """Retrieves the notes of one namespace, linked ones included, best first.

    `invoke` takes k, hops, filter and min_relevance as well, for that call; the namespace is fixed.
    A document has the note's id and text; its metadata has the rest of the note, JSON-native. A
    blank query finds nothing. Errors are raised.

    Attributes:
        memory: whose notes they are.
        namespace: one label or several.
        k: how many notes, at most.
        hops: how many links are followed.
        filter: conditions, as for `AgenticMemory.search`.
        min_relevance: the least `relevance` of a document, in [0, 1]; see its metadata.

    Raises:
        AMemError: when it is asked, whatever `AgenticMemory.search` raises.

    Examples:
        >>> from amem_integrations.langchain import AMemRetriever
        >>> _ = memory.add("Calvin's boat is called Susie", namespace="calvin")
        >>> retriever = AMemRetriever(memory=memory, namespace="calvin", k=3)
        >>> [document.page_content for document in retriever.invoke("the boat")]
        ["Calvin's boat is called Susie"]
    """

    memory: AgenticMemory = Field(exclude=True, repr=False)
    namespace: Namespace
    k: int = Field(default=4, ge=0)
    hops: int = Field(default=1, ge=0)
    filter: dict[str, Any] | None = None
    min_relevance: float | None = None

    @field_validator("namespace", mode="before")
    @classmethod
    def _labels(cls, value: Any) -> Namespace:
        return fixed_namespace(value)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        hits = self.memory.search(query, **self._arguments(given)) if query.strip() else []
        return [_document(hit) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        arguments = self._arguments(given)
        hits = await self.memory.asearch(query, **arguments) if query.strip() else []
        return [_document(hit) for hit in hits]

    def _arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of `search`."""
        if unknown := given.keys() - set(_PER_CALL):
            raise TypeError(f"invoke takes {', '.join(_PER_CALL)}; got {', '.join(unknown)}.")
        arguments = {name: given.get(name, getattr(self, name)) for name in _PER_CALL}
        least = least_relevance(self.memory.options, arguments["min_relevance"])
        return {**arguments, "namespace": self.namespace, "min_relevance": least}


def _document(hit: Hit) -> Document:
    note = hit.note
    metadata = {
        "id": note.id,
        "key": note.key,
        "score": hit.score,
        "occurred_at": None if note.occurred_at is None else note.occurred_at.isoformat(),
        "updated_at": note.updated_at.isoformat(),
        **hit_metadata(hit),
    }
    return Document(id=note.id, page_content=note.content, metadata=metadata)
