"""What of an `AMemMemory` travels, as JSON-native data, and how it is put together again.

Settings, the session and its chat travel, and the place of the notes; no connection does.
"""

import logging
from collections.abc import Mapping
from typing import Any

from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from llama_index.core.memory.memory import DEFAULT_MEMORY_BLOCKS_TEMPLATE
from llama_index.core.prompts import RichPromptTemplate
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore

from amem_integrations.llama_index import chat_stores
from amem_integrations.llama_index.notes import AMemNotes
from amem_integrations.llama_index.source import choose, restored
from amem_integrations.memory.attachments import Captioner, Captioning, captioning_of
from amem_integrations.memory.client import AgenticMemory

_LOG = logging.getLogger(__name__)

_OWN = (
    "namespace",
    "top_k",
    "hops",
    "min_relevance",
    "ingest",
    "roles",
    "scope",
    "max_tokens",
    "placing",
)
_TEMPLATE = DEFAULT_MEMORY_BLOCKS_TEMPLATE.template_str
_CHAT = (
    "session_id",
    "token_limit",
    "token_flush_size",
    "chat_history_token_ratio",
    "image_token_size_estimate",
    "audio_token_size_estimate",
    "video_token_size_estimate",
)


def dumped(memory: Memory, notes: AMemNotes, *, blocks: int) -> dict[str, Any]:
    """blocks: how many memory blocks of the caller's stay behind."""
    if blocks:
        _LOG.warning(
            "%d memory blocks do not travel with the memory that is serialised; give "
            "memory_blocks= to from_dict.",
            blocks,
        )
    own = {name: getattr(memory, name) for name in _OWN}
    template = memory.memory_blocks_template.template_str
    return {
        "class_name": memory.class_name(),
        "own": {**own, "namespace": list(own["namespace"]), "roles": list(own["roles"])},
        "chat": {name: getattr(memory, name) for name in _CHAT},
        "insert_method": memory.insert_method.value,
        "template": None if template == _TEMPLATE else template,
        "chat_store": chat_stores.dumped(memory.sql_store, memory.session_id),
        "place": notes.source.place,
        "waiting": notes.waiting,
    }


def arguments(
    data: Mapping[str, Any],
    *,
    core: AgenticMemory | None = None,
    llm: Any = None,
    embed_model: Any = None,
    chat_store: AsyncDBChatStore | None = None,
    memory_blocks: list[BaseMemoryBlock[Any]] | None = None,
    captioner: Captioner | Captioning | None = None,
) -> dict[str, Any]:
    """What `AMemMemory._made` takes, from what `dumped` gave."""
    own, chat = data["own"], data["chat"]
    if core is None:
        source = restored(data["place"], llm, embed_model)
    else:
        source = choose(core, None, llm, embed_model)
    return {
        "source": source,
        "own": {**own, "namespace": tuple(own["namespace"]), "roles": tuple(own["roles"])},
        "waiting": list(data["waiting"]),
        "captioning": captioning_of(captioner),
        "insert_method": InsertMethod(data["insert_method"]),
        "memory_blocks_template": DEFAULT_MEMORY_BLOCKS_TEMPLATE
        if data["template"] is None
        else RichPromptTemplate(data["template"]),
        "chat_store": chat_store or chat_stores.loaded(data["chat_store"], chat["session_id"]),
        "memory_blocks": memory_blocks,
        **chat,
    }
