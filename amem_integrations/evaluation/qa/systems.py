"""The memory systems that answer questions: this package's, the baselines, and all by name.

A system of your own needs no place here: whoever runs an evaluation can give a factory.
"""

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status, note_id
from amem_integrations.core.values import estimate_tokens
from amem_integrations.embedders.sparse import resolve_sparse
from amem_integrations.errors import AnalysisError, InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.system import (
    Budget,
    Cost,
    Evidence,
    Factory,
    Means,
    expected_cost,
    known_turns,
    shown_turns,
    transcript,
)
from amem_integrations.evaluation.recall import fill, home
from amem_integrations.evaluation.vectors import DenseBaseline, stored_text
from amem_integrations.formation.pipeline import Formation
from amem_integrations.formation.state import Mode
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import FormationOptions
from amem_integrations.recall.prompt import pack, shown_in

_LOG = logging.getLogger(__name__)

# A model may refuse a turn or two; with more unformed notes it is another system.
_MOST_UNFORMED = 0.02
_UNFORMED = (Status.RAW, Status.PARKED)
_UNLIMITED = 10**9
# What forming one note takes, about: calls, tokens of the question and of the answer.
_TAKES = {"fused": (1, 1300, 220), "staged": (3, 2400, 260), "batched": (1 / 8, 420, 200)}
# Tokens of a packed note beside its content: names of fields, time, context, tags.
_FRAME = 60


class AMem:
    """A-Mem (arXiv 2502.12110) as this package has it: a note for each turn, found with links.

    judged: by the run's model, by statistics, or by the model if the run has one (None).
    mode: see AgenticMemory; formation "off" stores turns as they are. link, evolve: the paper's
    ablations. Without links, evolution acts on the candidates.
    Notes are packed by relevance, as `pack` does for a prompt.
    """

    def __init__(
        self,
        means: Means,
        *,
        name: str = "amem",
        judged: bool | None = None,
        mode: Mode = "fused",
        formation: Formation = "inline",
        link: bool = True,
        evolve: bool = True,
    ) -> None:
        self.name = name
        if judged and means.model is None:
            raise InvalidInputError(
                f"The system {name!r} needs a model, which forms its notes; give one with "
                "--model, or take amem-free."
            )
        self._means = means
        self._model = None if judged is False else means.model
        self._mode: Mode = mode
        self._formation: Formation = formation
        self._options = FormationOptions(link=link, evolve=evolve)
        self._memory: AgenticMemory | None = None

    @property
    def memory(self) -> AgenticMemory:
        """The memory, opened on first use."""
        if self._memory is None:
            self._memory = AgenticMemory(
                self._means.location,
                model=self._model,
                embedder=self._means.embedder,
                mode=self._mode,
                formation=self._formation,
                formation_options=self._options,
            )
        return self._memory

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        notes = len(conversation.turns)
        evidence = expected_cost(conversation, budget).evidence + _FRAME * min(budget.k, notes)
        if budget.tokens is not None:
            evidence = min(evidence, budget.tokens)
        if self._model is None or self._formation == "off":
            return Cost(evidence=evidence)
        calls, tokens_in, tokens_out = _TAKES[self._mode]
        return Cost(math.ceil(notes * calls), notes * tokens_in, notes * tokens_out, evidence)

    def prepare(self, conversation: Conversation) -> None:
        fill(self.memory, self._dataset(conversation))
        if self._formation == "off":
            return
        for note in self.notes(conversation):
            if note.status in _UNFORMED:
                # One more chance, now that the model's trouble may be over.
                self.memory.form(note)
        health = self.memory.admin.health(self.home(conversation))
        left = sum(health.get(status, 0) for status in _UNFORMED)
        if left > _MOST_UNFORMED * len(conversation.turns):
            raise AnalysisError(
                f"{self.name}: {left} of {len(conversation.turns)} notes of {conversation.id!r} "
                "could not be formed; run again to go on where it stopped.",
                reason="unformed",
                retryable=True,
            )
        if left:
            _LOG.warning("%s: %d notes stay unformed", self.name, left)

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        hits = self.memory.search(
            question.text,
            namespace=self.home(conversation),
            k=budget.k,
            at=question.asked_at,
        )
        text = pack(hits, _UNLIMITED if budget.tokens is None else budget.tokens)
        return Evidence(text, tuple(hit.note.key for hit in shown_in(hits, text)))

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def notes(self, conversation: Conversation) -> list[Note]:
        """Return the notes of the turns, in their order; those that are there."""
        namespace = self.home(conversation)
        ids = (note_id(namespace, turn.id) for turn in conversation.turns)
        found = (self.memory.get(id, namespace=namespace) for id in ids)
        return [note for note in found if note is not None]

    def home(self, conversation: Conversation) -> Namespace:
        """Return the namespace of a conversation's notes."""
        return home(self.memory, self._dataset(conversation), conversation)

    def _dataset(self, conversation: Conversation) -> Dataset:
        dataset = self._means.dataset
        return Dataset(dataset.format, (conversation,), dataset.digest)


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


SYSTEMS: Mapping[str, Factory] = MappingProxyType(
    {
        "amem": AMem,
        "amem-free": partial(AMem, name="amem-free", judged=False),
        "amem-fused": partial(AMem, name="amem-fused", judged=True),
        "amem-staged": partial(AMem, name="amem-staged", judged=True, mode="staged"),
        "amem-batched": partial(AMem, name="amem-batched", judged=True, mode="batched"),
        "amem-raw": partial(AMem, name="amem-raw", judged=False, formation="off"),
        "amem-without-links": partial(AMem, name="amem-without-links", link=False),
        "amem-without-evolution": partial(AMem, name="amem-without-evolution", evolve=False),
        "amem-without-both": partial(AMem, name="amem-without-both", link=False, evolve=False),
        "full-context": FullContext,
        "dense": Dense,
        "bm25": Bm25,
        "nothing": Nothing,
    }
)
"""From a name to what makes the system; see `system.Factory`."""
