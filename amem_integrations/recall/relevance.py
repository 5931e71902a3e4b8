"""Relevance: how probable it is that a note answers the question.

Scores rank the notes of one search, and the best of them may still answer nothing. Relevance
compares across searches and memories; `search` measures it if a least relevance is set.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import exp, log

from amem_integrations.core.engine import Query, Vector
from amem_integrations.core.filters import both, ids
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO, SparseEncoder
from amem_integrations.core.note import Note
from amem_integrations.embedders.identifiers import find_identifiers
from amem_integrations.embedders.sparse import identifier_index, is_identifier
from amem_integrations.recall.query import Question, Scope
from amem_integrations.stores.write import sparse_text

# Logistic regression on the ten best notes for each question of six LoCoMo and ten BEAM
# conversations (development halves), and for the same question asked of another conversation.
# Fitted on all but one conversation, its probabilities are 0.02 (LoCoMo) and 0.03 (BEAM) off in
# the one left out (expected calibration error, ten bins).
_BASE = -4.35
_NEAR = 3.3
_COVERED = 2.4
_NAMED = 0.7
_RANK = -0.93
# What is left if the note lacks the invoice, telephone or ticket that the question names.
_UNKNOWN = 0.2


async def measure_relevance(
    io: IO, scope: Scope, hits: Sequence[Hit], question: Question, vector: Vector
) -> list[Hit]:
    """Return the hits, each with its relevance in [0, 1].

    It grows with the cosine and with the share of the question's words that the note has, and
    falls with the rank; naming a speaker who is here counts for all notes. The nearest invoice is
    no answer if the question gives the number of another one. Cosines depend on the embedder, and
    so does relevance.
    """
    if not hits:
        return []
    wanted = ids([hit.note.id for hit in hits])
    [found] = await io.engine.query([Query(vector, both(scope.where, wanted), len(hits))])
    cosines = {scored.id: max(scored.score, 0.0) for scored in found}
    asked = _Asked(io.sparse, question.text)
    scores = [-hit.score for hit in hits]
    return [
        replace(
            hit,
            relevance=asked.known(terms)
            / (
                1
                + exp(
                    -_BASE
                    - _NEAR * cosines.get(hit.note.id, 0.0)
                    - _COVERED * asked.covered(terms)
                    - _NAMED * question.named
                    - _RANK * log(rank)
                )
            ),
        )
        for hit in hits
        # Notes with the same score have the same rank.
        for rank in [1 + bisect_left(scores, -hit.score)]
        for terms in [frozenset(io.sparse.document(sparse_text(hit.note)).indices)]
    ]


def covered_by(encoder: SparseEncoder, question: Question) -> Callable[[Note], float]:
    """Return what tells the share of the question's words and identifiers that a note has."""
    asked = _Asked(encoder, question.text)
    return lambda note: asked.covered(frozenset(encoder.document(sparse_text(note)).indices))


class _Asked:
    """The words and identifiers of a question, as terms."""

    def __init__(self, encoder: SparseEncoder, question: str) -> None:
        indices = encoder.query(question).indices
        words = [{index} for index in indices if not is_identifier(index)]
        # A collection with an older encoder has none of them among its terms.
        identifiers = [
            (_known(each.keys.keys(), indices), _known(each.distinctive, indices))
            for each in find_identifiers(question)
        ]
        self._forms = [*words, *(keys for keys, _ in identifiers if keys)]
        self._distinctive = [keys for _, keys in identifiers if keys]

    def covered(self, terms: AbstractSet[int]) -> float:
        """The share of the question's words and identifiers that are among the terms of a note."""
        return _share(self._forms, terms)

    def known(self, terms: AbstractSet[int]) -> float:
        """What is left of the relevance of a note with these terms."""
        if not self._distinctive:
            return 1.0
        return _UNKNOWN + (1 - _UNKNOWN) * _share(self._distinctive, terms)


def _known(keys: AbstractSet[str], indices: Sequence[int]) -> set[int]:
    return {identifier_index(key) for key in keys} & set(indices)


def _share(forms: Sequence[AbstractSet[int]], terms: AbstractSet[int]) -> float:
    return sum(bool(form & terms) for form in forms) / len(forms) if forms else 0.0
