"""Baselines: everything, nothing, and two ways to search plain turns."""

import math
from collections import Counter
from collections.abc import Sequence

from amem_integrations.core.values import estimate_tokens
from amem_integrations.embedders.sparse import resolve_sparse
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.system import (
    Budget,
    Cost,
    Evidence,
    Means,
    expected_cost,
    known_turns,
    shown_turns,
    transcript,
)
from amem_integrations.evaluation.vectors import DenseBaseline, stored_text


class Nothing:
    """No memory: what a reader knows without any, and the floor of every score."""

    name = "nothing"

    def __init__(self, means: Means) -> None:
        self._means = means

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        return Cost()

    def prepare(self, conversation: Conversation) -> None:
        pass

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        return Evidence("")

    def close(self) -> None:
        pass


class FullContext(Nothing):
    """The whole conversation for every question, whatever the budget says.

    The baseline that A-Mem's paper calls LoCoMo, after Maharana et al. 2024 (arXiv 2402.17753):
    one day after the other under its date, a turn a line.
    """

    name = "full-context"

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        return Cost(evidence=estimate_tokens(transcript(conversation.turns)))

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        turns = known_turns(conversation, question)
        return Evidence(transcript(turns), tuple(turn.id for turn in turns))


class _Ranking(Nothing):
    """Turns by a score."""

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        return expected_cost(conversation, budget)

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        turns = {turn.id: turn for turn in conversation.turns}
        best = [turns[id] for id in self.ranked(conversation, question)]
        return shown_turns(best, conversation, budget)

    def ranked(self, conversation: Conversation, question: Question) -> Sequence[str]:
        raise AssertionError("a ranking says how it ranks")


class Dense(_Ranking):
    """Retrieval-augmented generation as A-Mem's evaluation stores turns: by cosine alone.

    The question is the query, not keywords that a model makes of it.
    """

    name = "dense"

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._indexes: dict[str, DenseBaseline] = {}

    def prepare(self, conversation: Conversation) -> None:
        self._indexes[conversation.id] = DenseBaseline(self._means.embedder, [conversation])

    def ranked(self, conversation: Conversation, question: Question) -> Sequence[str]:
        index = self._indexes[conversation.id]
        return index(conversation, question, len(conversation.turns))


class Bm25(_Ranking):
    """Okapi BM25 over turns, with the term encoder of our search and IDF over the conversation.

    IDF is Qdrant's: ln(1 + (N - n + ½) / (n + ½)) for a term that n of N turns have.
    """

    name = "bm25"

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._encoder = resolve_sparse()
        self._terms: dict[str, dict[str, dict[int, float]]] = {}

    def prepare(self, conversation: Conversation) -> None:
        terms: dict[str, dict[int, float]] = {}
        for turn in conversation.turns:
            vector = self._encoder.document(stored_text(turn))
            terms[turn.id] = dict(zip(vector.indices, vector.values, strict=True))
        self._terms[conversation.id] = terms

    def ranked(self, conversation: Conversation, question: Question) -> Sequence[str]:
        stored = self._terms[conversation.id]
        turns = {turn.id: stored[turn.id] for turn in known_turns(conversation, question)}
        query = self._encoder.query(question.text)
        having = Counter(term for terms in turns.values() for term in terms)
        idf = {n: math.log(1 + (len(turns) - having[n] + 0.5) / (having[n] + 0.5)) for n in having}
        weights = {
            term: weight * idf.get(term, 0.0)
            for term, weight in zip(query.indices, query.values, strict=True)
        }
        scores = {
            id: sum(weights[term] * tf for term, tf in terms.items() if term in weights)
            for id, terms in turns.items()
        }
        found = [id for id, score in scores.items() if score > 0]
        return sorted(found, key=scores.__getitem__, reverse=True)
