"""fastembed's cross-encoders by name, run on this machine's CPU: rerankers.

A model comes from fastembed's cache or the model hub when it is first used. `reranking` calls it.
"""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from amem_integrations.embedders.fastembed import (
    BATCH,
    THREADS,
    cache_dir,
    close_to,
    is_cached,
    known_as,
)
from amem_integrations.embedders.hub import hub_problem
from amem_integrations.embedders.once import Once
from amem_integrations.embedders.text import bounded
from amem_integrations.errors import ModelUnavailableError

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

_LOG = logging.getLogger(__name__)

# They read 512 tokens, or a few thousand; the rest need not go through the tokenizer.
_MAX_CHARS = 20_000

_loaded: dict[str, "Once[TextCrossEncoder]"] = {}


class FastembedCrossEncoder:
    """One of fastembed's cross-encoders, loaded on first use, as a reranker.

    Raises ModelUnavailableError for a name that fastembed does not know, and when the model
    cannot be had.
    """

    def __init__(self, name: str) -> None:
        self.name: str = _describe(name)["model"]
        self._model = _loaded.setdefault(self.name, Once(partial(_load, self.name)))

    def invoke(self, input: tuple[str, list[str]]) -> list[float | None]:
        query, texts = input
        readable = [bounded(text, _MAX_CHARS) for text in texts]
        scores = self._model().rerank(bounded(query, _MAX_CHARS), readable, batch_size=BATCH)
        return [float(score) for score in scores]

    async def ainvoke(self, input: tuple[str, list[str]]) -> list[float | None]:
        return await asyncio.to_thread(self.invoke, input)


def _describe(name: str) -> dict[str, Any]:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    models = TextCrossEncoder.list_supported_models()
    found = known_as(name, models)
    if found is None:
        raise ModelUnavailableError(
            f"There is no cross-encoder {name!r}.{close_to(name, models)} A name is one of "
            "fastembed's (fastembed.rerank.cross_encoder.TextCrossEncoder.list_supported_models); "
            "any other reranker is given as an object: reranker=CohereRerank(...)."
        )
    return found


def _load(name: str) -> "TextCrossEncoder":
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    model = _describe(name)
    cached = is_cached(model)
    if not cached:
        repository = model["sources"]["hf"]
        problem = hub_problem(repository) if repository else None
        if problem is not None:
            raise ModelUnavailableError(
                f"The cross-encoder {name!r} is not on this machine, and the model hub cannot "
                f"give it ({problem}). Point HF_ENDPOINT at a mirror, or HTTPS_PROXY at a proxy; "
                "or copy fastembed's cache from another machine and name it in "
                "FASTEMBED_CACHE_PATH; or give a reranker of your own: reranker=..."
            )
        _LOG.info("Downloading %s (%s GB) to %s.", name, model["size_in_GB"], cache_dir())
    try:
        return TextCrossEncoder(name, threads=THREADS, local_files_only=cached)
    except Exception as error:
        raise ModelUnavailableError(
            f"fastembed could not load {name!r}: {type(error).__name__}: {error}"
        ) from error
