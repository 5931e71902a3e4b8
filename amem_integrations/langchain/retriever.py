"""AMemRetriever: notes as documents, for whatever in LangChain takes a retriever.

It is asked on purpose, so what goes wrong is raised.
"""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, field_validator

from amem_integrations.core.namespace import Namespace, fixed_namespace
from amem_integrations.core.note import Hit
from amem_integrations.memory.client import AgenticMemory


class Asked(TypedDict, total=False):
    """What one `invoke` may ask for instead of what the retriever was made with."""

    k: int
    hops: int
    filter: Mapping[str, Any] | None
    min_relevance: float | None
    score_threshold: float | None


class AMemRetriever(BaseRetriever):
    """Retrieves the notes of one namespace, linked ones included, best first.

    `invoke` takes k, hops, filter, min_relevance and score_threshold as well, for itself; the
    namespace is fixed. A document has the note's id and text, and in its metadata all else that is
    known of it, as JSON has it. A blank query finds nothing.

    Attributes:
        memory: whose notes they are.
        namespace: one label or several.
        k: how many notes, at most.
        hops: how many links are followed.
        filter: conditions, as for `AgenticMemory.search`.
        min_relevance: as for `AgenticMemory.search`.
        score_threshold: the least score of a document; a clear winner by meaning and words has
            about 1 for each, see its `why`.

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
    score_threshold: float | None = None

    @field_validator("namespace", mode="before")
    @classmethod
    def _labels(cls, value: Any) -> Namespace:
        return fixed_namespace(value)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **asked: Unpack[Asked]
    ) -> list[Document]:
        if not query.strip():
            return []
        about, threshold = self._about(**asked)
        return _documents(self.memory.search(query, **about), threshold)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **asked: Unpack[Asked],
    ) -> list[Document]:
        if not query.strip():
            return []
        about, threshold = self._about(**asked)
        return _documents(await self.memory.asearch(query, **about), threshold)

    def _about(self, **asked: Unpack[Asked]) -> tuple[dict[str, Any], float | None]:
        if unknown := asked.keys() - Asked.__annotations__.keys():
            raise TypeError(
                f"invoke takes {', '.join(Asked.__annotations__)}; got {', '.join(unknown)}."
            )
        about: dict[str, Any] = {
            "k": self.k,
            "hops": self.hops,
            "filter": self.filter,
            "min_relevance": self.min_relevance,
            "score_threshold": self.score_threshold,
            **asked,
        }
        threshold = about.pop("score_threshold")
        return {**about, "namespace": self.namespace}, threshold


def _documents(hits: list[Hit], threshold: float | None) -> list[Document]:
    return [_document(hit) for hit in hits if threshold is None or hit.score >= threshold]


def _document(hit: Hit) -> Document:
    note = hit.note
    metadata = {
        "id": note.id,
        "key": note.key,
        "score": hit.score,
        "why": dict(hit.why),
        "relevance": hit.relevance,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
        "links": [
            {"to": link.other(note.id), "kind": link.kind, "reason": link.reason}
            for link in note.links
        ],
        "speaker": note.speaker,
        "session": note.session,
        "occurred_at": None if note.occurred_at is None else note.occurred_at.isoformat(),
        "created_at": note.created_at.isoformat(),
        "updated_at": note.updated_at.isoformat(),
        "metadata": note.metadata,
    }
    return Document(id=note.id, page_content=note.content, metadata=metadata)
