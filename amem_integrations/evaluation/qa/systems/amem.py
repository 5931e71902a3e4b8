"""This package's memory as it is used: notes formed, linked and evolved, recalled and packed."""

import logging
import threading
from functools import cached_property
from math import ceil

from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status, note_id
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.system import (
    Budget,
    Cost,
    Evidence,
    Means,
    expected_cost,
    required_model,
)
from amem_integrations.evaluation.recall import fill, home
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
        if judged:
            required_model(means, name, "forms its notes; amem-free does without")
        self._means = means
        self._model = None if judged is False else means.model
        self._mode: Mode = mode
        self._formation: Formation = formation
        self._options = FormationOptions(link=link, evolve=evolve)
        self._lock = threading.Lock()

    @cached_property
    def _opened(self) -> AgenticMemory:
        return AgenticMemory(
            self._means.location,
            model=self._model,
            embedder=self._means.embedder,
            mode=self._mode,
            formation=self._formation,
            formation_options=self._options,
        )

    @property
    def memory(self) -> AgenticMemory:
        """The memory, opened on first use."""
        with self._lock:
            return self._opened

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        notes = len(conversation.turns)
        evidence = expected_cost(conversation, budget).evidence + _FRAME * min(budget.k, notes)
        if budget.tokens is not None:
            evidence = min(evidence, budget.tokens)
        if self._model is None or self._formation == "off":
            return Cost(evidence=evidence)
        calls, tokens_in, tokens_out = _TAKES[self._mode]
        return Cost(ceil(notes * calls), notes * tokens_in, notes * tokens_out, evidence)

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
        with self._lock:
            if "_opened" in self.__dict__:
                self._opened.close()

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
