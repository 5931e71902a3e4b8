"""AMemRetriever: notes as nodes, for whatever in LlamaIndex takes a retriever."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import Field
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from amem_integrations.core.hit import Hit
from amem_integrations.core.namespace import fixed_namespace
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.items import hit_metadata, least_relevance
from amem_integrations.memory.wiring import NamespaceLike
from amem_integrations.recall.search import check_counts
from amem_integrations.recall.signals import check_relevance

# What a model sees beside the text, and what an index of one's own embeds with it (paper §3).
_SHOWN = frozenset({"time", "speaker"})
_EMBEDDED = frozenset({"context", "keywords", "tags", "questions"})


def check_finds(top_k: int) -> None:
    """Raise InvalidInputError for what would never find anything."""
    if top_k == 0:
        raise InvalidInputError("top_k is 1 or more: with 0, nothing would be found.")


# LlamaIndex tells nodes apart by a hash of text and metadata: what depends on the query must not
# be among them.
_OF_THE_QUERY = frozenset({"why", "relevance"})


class NoteWithScore(NodeWithScore):
    """A note as a node, with its score.

    Attributes:
        score: the hit's `relevance`, in [0, 1].
        why: what each signal contributed to finding it.
    """

    why: dict[str, float] = Field(default_factory=dict)

    @classmethod
    def class_name(cls) -> str:
        return "NoteWithScore"


class AMemRetriever(BaseRetriever):
    """Retrieves the notes of one namespace, linked ones included.

    A node has the note's id and text; its metadata has keywords, tags, context, questions, links,
    time, speaker and session. A model sees time and speaker only. Beside the node stand the score
    and `why` this query found it. A blank query finds nothing. Errors are raised.

    Args:
        core: the memory whose notes they are.
        namespace: the user; no query can change it.
        top_k: how many notes, at most.
        hops: how many links are followed.
        filter: conditions, as for `AgenticMemory.search`.
        min_relevance: the least score of a node. Its score is `hit.relevance`, in [0, 1].
        callback_manager: LlamaIndex's.

    Raises:
        InvalidInputError: an argument cannot be used.
        AMemError: when it is asked, whatever `AgenticMemory.search` raises.

    Examples:
        >>> from amem_integrations.llama_index import AMemRetriever
        >>> _ = memory.add("Calvin's dog is called Rex", namespace="calvin")
        >>> retriever = AMemRetriever(memory, namespace="calvin", top_k=3)
        >>> [found] = retriever.retrieve("the dog")
        >>> found.node.text, "words" in found.why
        ("Calvin's dog is called Rex", True)
    """

    def __init__(
        self,
        core: AgenticMemory,
        *,
        namespace: NamespaceLike,
        top_k: int = 5,
        hops: int = 1,
        filter: Mapping[str, Any] | None = None,
        min_relevance: float | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)  # pyright: ignore[reportUnknownMemberType]
        check_counts(top_k=top_k, hops=hops)
        check_finds(top_k)
        check_relevance(min_relevance)
        self._core = core
        self._about: dict[str, Any] = {
            "namespace": fixed_namespace(namespace),
            "k": top_k,
            "hops": hops,
            "filter": filter,
            "min_relevance": least_relevance(core.options, min_relevance),
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return _nodes(self._core.search(query, **self._about)) if query.strip() else []

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return _nodes(await self._core.asearch(query, **self._about)) if query.strip() else []


def _nodes(hits: Sequence[Hit]) -> list[NodeWithScore]:
    return [NoteWithScore(node=_node(hit), score=hit.relevance, why=dict(hit.why)) for hit in hits]


def _node(hit: Hit) -> TextNode:
    note = hit.note
    time = (note.occurred_at or note.created_at).isoformat()
    metadata = {"time": time, "speaker": note.speaker, **hit_metadata(hit)}
    metadata = {
        name: value
        for name, value in metadata.items()
        if value is not None and name not in _OF_THE_QUERY
    }
    return TextNode(
        id_=note.id,
        text=note.content,
        metadata=metadata,
        excluded_llm_metadata_keys=[name for name in metadata if name not in _SHOWN],
        excluded_embed_metadata_keys=[name for name in metadata if name not in _EMBEDDED],
    )
