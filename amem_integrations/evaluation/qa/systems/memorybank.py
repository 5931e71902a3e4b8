"""MemoryBank: memories that fade unless they are recalled, and summaries of days.

After Zhong et al. 2024, "MemoryBank: Enhancing Large Language Models with Long-Term Memory"
(arXiv 2305.10250), sections 2.1 to 2.3.
"""

import math
import random
from dataclasses import dataclass, field
from datetime import datetime

from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import Budget, Cost, Evidence, Means
from amem_integrations.evaluation.qa.systems.asking import TEXT, ask, tokens_of
from amem_integrations.evaluation.qa.systems.showing import (
    dated,
    days,
    expected,
    fitting,
    is_known,
    line,
    moment,
    said,
    tokens,
)
from amem_integrations.evaluation.qa.systems.vectors import Vectors

_RECALLED = 3
_DAY = 86_400.0

_DAY_RULES = "You keep the memory of a companion that talks with people over months."
_DAY_REQUEST = (
    'From this day\'s conversation: "events" sums up what happened and was told, in a few '
    'sentences with names and dates; "people" says what it shows of the speakers\' character, '
    "moods and preferences, in one or two sentences."
)
_ALL_REQUEST = (
    'From these daily summaries: "events" sums up the whole time, in at most five sentences; '
    '"people" is a portrait of each speaker, in at most two sentences each.'
)
_ANSWER = {"events": TEXT, "people": TEXT}


@dataclass
class Piece:
    """Something that can be forgotten: a turn, or the summary of a day (turn is None).

    chance: of a draw in [0, 1). recalls: when it came to mind.
    """

    text: str
    at: datetime | None
    turn: Turn | None
    chance: float
    recalls: list[datetime] = field(default_factory=list[datetime])

    def retention(self, at: datetime | None) -> float:
        """R = e^(-t/S): t days since it was said or recalled, S one more for each recall."""
        if at is None or self.at is None:
            return 1.0
        recalls = [each for each in self.recalls if each <= at]
        elapsed = (at - max(recalls, default=self.at)).total_seconds() / _DAY
        return math.exp(-max(elapsed, 0.0) / (1 + len(recalls)))

    def is_kept(self, at: datetime | None) -> bool:
        """Whether it is remembered then; what is forgotten never comes back."""
        return self.chance < self.retention(at)


@dataclass
class _Bank:
    pieces: list[Piece]
    vectors: Vectors
    events: str = ""
    people: str = ""


class MemoryBank:
    """Turns and daily summaries by dense retrieval, those that the forgetting curve has left.

    With the paper: strength S begins at 1 and is raised by 1 at each recall, which also resets
    the time t (in days); summaries of each day and of all, and a portrait of the speakers, are
    the model's. Simplified: while the conversation is taken in, each turn recalls the three
    nearest pieces of earlier days, as the companion would when hearing it; the questions of the
    evaluation recall without strengthening, so that their order does not matter. Each piece is
    forgotten by a single draw, when its retention falls below it. A day's events and what it
    shows of the speakers are one question to the model, not two. Without a model there are no
    summaries and no portrait, and the name says so. Summaries count as no turn's evidence.
    """

    def __init__(self, means: Means) -> None:
        self.name = "memorybank" if means.model else "memorybank-without-summaries"
        self._means = means
        self._model = means.model
        self._banks: dict[str, _Bank] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        shown = expected(conversation, budget)
        if self._model is None:
            return shown
        found = days(conversation.turns)
        read = sum(tokens_of("\n".join(map(said, day))) for day in found) + 150 * len(found)
        return Cost(len(found) + 1, read, 150 * (len(found) + 1), shown.evidence + 300)

    def prepare(self, conversation: Conversation) -> None:
        draw = random.Random(f"{self._means.seed} {conversation.id}")
        pieces: list[Piece] = []
        summaries: list[str] = []
        people: list[str] = []
        for day in days(conversation.turns):
            pieces += [Piece(line(turn), turn.time, turn, draw.random()) for turn in day]
            if self._model is not None:
                text = "\n".join(map(said, day))
                found = ask(self._model, "memorybank-day", _DAY_RULES, text, _DAY_REQUEST, _ANSWER)
                at = day[-1].time
                events = dated(
                    at, f"(summary of the day) {' '.join(found.get('events', '').split())}"
                )
                pieces.append(Piece(events, at, None, draw.random()))
                summaries.append(events)
                people.append(found.get("people", ""))
        bank = _Bank(pieces, Vectors(self._means.embedder, [piece.text for piece in pieces]))
        if self._model is not None and summaries:
            text = "\n".join([*summaries, *people])
            found = ask(self._model, "memorybank-all", _DAY_RULES, text, _ALL_REQUEST, _ANSWER)
            bank.events, bank.people = found.get("events", ""), found.get("people", "")
        _rehearse(bank)
        self._banks[conversation.id] = bank

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        bank = self._banks[conversation.id]
        at = moment(conversation, question)
        cosines = bank.vectors.cosines(question.text)
        left = [
            place
            for place, piece in enumerate(bank.pieces)
            if is_known(piece.at, question) and piece.is_kept(at)
        ]
        best = [bank.pieces[place] for place in sorted(left, key=lambda place: -cosines[place])]
        head = _head(bank, conversation, question)
        used = sum(map(tokens, head))
        if budget.tokens is not None and used > budget.tokens // 2:
            head, used = [], 0
        chosen = [best[place] for place in fitting([each.text for each in best], budget, used)]
        lines = [*head, *(piece.text for piece in chosen)]
        return Evidence("\n".join(lines), tuple(each.turn.id for each in chosen if each.turn))

    def close(self) -> None:
        pass


def _head(bank: _Bank, conversation: Conversation, question: Question) -> list[str]:
    """The summary of everything and the portraits, unless some of it is still to come."""
    if not all(is_known(turn.time, question) for turn in conversation.turns):
        return []
    named = (("Summary", bank.events), ("Portrait", bank.people))
    return [f"{name}: {' '.join(text.split())}" for name, text in named if text.strip()]


def _rehearse(bank: _Bank) -> None:
    """Let each turn, in order, recall what is nearest to it of earlier days."""
    for place, piece in enumerate(bank.pieces):
        at = piece.at
        if piece.turn is None or at is None:
            continue
        likeness = bank.vectors.likeness(place)
        earlier = [
            other
            for other in range(place)
            if (then := bank.pieces[other].at) is not None
            and then.date() < at.date()
            and bank.pieces[other].is_kept(at)
        ]
        for other in sorted(earlier, key=lambda other: -likeness[other])[:_RECALLED]:
            bank.pieces[other].recalls.append(at)
