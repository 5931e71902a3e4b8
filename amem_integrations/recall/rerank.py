"""Reranking: another model orders the best notes. Off by default."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from amem_integrations.core.io import IO
from amem_integrations.core.note import Hit, Note
from amem_integrations.embedders.rerankers import Reranker, RerankerSpec, Scores, resolve_reranker
from amem_integrations.errors import InvalidInputError, loggable
from amem_integrations.llms.failures import is_interrupt

_LOG = logging.getLogger(__name__)
FAILED = "recall.rerank.failed"


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker; `count` is called with the name of what went wrong."""

    reranker: Reranker
    count: Callable[[str], None]


def reranking_by(spec: RerankerSpec, count: Callable[[str], None]) -> Reranking | None:
    """Resolve a reranker; raises what `resolve_reranker` raises."""
    reranker = resolve_reranker(spec)
    return None if reranker is None else Reranking(reranker, count)


async def rerank(io: IO, query: str, hits: Sequence[Hit], by: Reranking) -> list[Hit]:
    """Return the hits in the reranker's order and with its scores, without those it leaves out.

    A reranker that fails changes nothing; the failure is logged without content, and counted.
    """
    if not hits:
        return []
    try:
        asked = query, [_text(hit.note) for hit in hits]
        scores: Scores = await io.invoke(by.reranker, asked)
        if len(scores) != len(hits):
            raise ValueError(f"{len(scores)} scores for {len(hits)} texts")
        if not all(score is None or isfinite(score) for score in scores):
            raise ValueError("a score that is no finite number")
    except InvalidInputError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise
        _LOG.warning(
            "The reranker %s failed (%s); the notes are in the order they had.",
            by.reranker.name,
            loggable(error),
        )
        _LOG.debug("Why.", exc_info=error)
        by.count(FAILED)
        return list(hits)
    scored = [
        replace(hit, score=float(score), why={**hit.why, "rerank": float(score)})
        for hit, score in zip(hits, scores, strict=True)
        if score is not None
    ]
    return sorted(scored, key=lambda hit: -hit.score)


def _text(note: Note) -> str:
    return f"{note.speaker}: {note.content}" if note.speaker else note.content
