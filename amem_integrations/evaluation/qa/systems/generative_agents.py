"""Generative Agents: a memory stream ranked by recency, importance and relevance; reflections.

After Park et al. 2023, "Generative Agents: Interactive Simulacra of Human Behavior"
(arXiv 2304.03442), sections 4.1 and 4.2.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import Budget, Cost, Evidence, Means
from amem_integrations.evaluation.qa.systems.asking import (
    NUMBER,
    TEXT,
    ask,
    objects,
    required,
    texts,
    tokens_of,
)
from amem_integrations.evaluation.qa.systems.showing import (
    dated,
    expected,
    fitting,
    is_known,
    line,
    moment,
    said,
    whole,
)
from amem_integrations.evaluation.qa.systems.vectors import Vectors

_DECAY = 0.995
_HOUR = 3600.0
_REFLECT_AT = 150.0
_RECENT, _SALIENT, _INSIGHTS, _RETRIEVED = 100, 3, 5, 10
_RATED = 20

_RULES = "You keep the memories of somebody who takes part in a conversation."
_RATE = (
    "Each line begins with its number. On a scale from 1, purely mundane (a greeting, brushing "
    "teeth), to 10, extremely poignant (a break-up, a college acceptance), how poignant is each "
    'line? "ratings": {count} numbers, in order.'
)
_ASK = (
    f"Given these statements only, which {_SALIENT} most salient high-level questions can be "
    'answered about the people in them? "questions".'
)
_CONCLUDE = (
    f"Which high-level insights, at most {_INSIGHTS}, follow from these statements about: "
    '{question}\n"insights": for each its "text", one sentence, the numbers of the statements '
    'it rests on in "because_of", and how poignant it is, from 1 to 10, as "importance".'
)


@dataclass
class Memory:
    """An entry of the stream: a turn as it was heard, or a reflection (turn is None)."""

    text: str
    at: datetime | None
    importance: float
    turn: Turn | None = None
    accessed: list[datetime] = field(default_factory=list[datetime])

    def recency(self, at: datetime | None) -> float:
        """0.995 for each hour since it was made or retrieved."""
        if at is None or self.at is None:
            return 1.0
        last = max([self.at, *(each for each in self.accessed if each <= at)])
        return _DECAY ** max((at - last).total_seconds() / _HOUR, 0.0)


@dataclass
class _Stream:
    vectors: Vectors
    memories: list[Memory]

    def ranked(self, query: str, visible: Iterable[int], at: datetime | None) -> list[int]:
        """Places of the visible memories, the best first."""
        places = list(visible)
        cosines = self.vectors.cosines(query)
        parts = (
            _scaled([self.memories[place].recency(at) for place in places]),
            _scaled([self.memories[place].importance for place in places]),
            _scaled([cosines[place] for place in places]),
        )
        scores = {place: sum(each) for place, *each in zip(places, *parts, strict=True)}
        return sorted(places, key=lambda place: -scores[place])


class GenerativeAgents:
    """The stream's best memories: turns and reflections.

    With the paper: score = recency + importance + relevance, each scaled to [0, 1] over the
    memories at hand, all weighted 1; recency decays by 0.995 an hour since the last retrieval;
    when importance sums to 150 since the last reflection, three questions are asked of the 100
    latest memories, and insights that cite their evidence join the stream. Simplified: turns are
    rated 20 at a time; time is the conversation's; no reflection trees beyond insights that rest
    on insights; retrieval for a question leaves no trace, so that their order does not matter.
    Reflections count as no turn's evidence.
    """

    name = "generative-agents"

    def __init__(self, means: Means, *, reflect_at: float = _REFLECT_AT) -> None:
        self._model = required(means, self.name, "rates importance and reflects")
        self._embedder = means.embedder
        self._reflect_at = reflect_at
        self._streams: dict[str, _Stream] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        turns = len(conversation.turns)
        ratings = -(-turns // _RATED)
        # With three points a turn, as chat has.
        reflections = int(3 * turns // self._reflect_at)
        read = tokens_of(whole(conversation.turns)) + 150 * ratings
        recent = min(_RECENT, turns) * 40 + _SALIENT * _RETRIEVED * 40 + 600
        return Cost(
            ratings + (1 + _SALIENT) * reflections,
            read + recent * reflections,
            60 * ratings + 800 * reflections,
            expected(conversation, budget).evidence,
        )

    def prepare(self, conversation: Conversation) -> None:
        stream = _Stream(Vectors(self._embedder), [])
        since = 0.0
        for start in range(0, len(conversation.turns), _RATED):
            turns = conversation.turns[start : start + _RATED]
            stream.vectors.add([line(turn) for turn in turns])
            for turn, importance in zip(turns, self._rated(turns), strict=True):
                stream.memories.append(Memory(line(turn), turn.time, importance, turn))
                since += importance
            if since >= self._reflect_at:
                self._reflect(stream)
                since = 0.0
        self._streams[conversation.id] = stream

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        stream = self._streams[conversation.id]
        known = (place for place, each in enumerate(stream.memories) if is_known(each.at, question))
        ranked = stream.ranked(question.text, known, moment(conversation, question))
        best = [stream.memories[place] for place in ranked]
        chosen = [best[place] for place in fitting([each.text for each in best], budget)]
        text = "\n".join(memory.text for memory in chosen)
        return Evidence(text, tuple(each.turn.id for each in chosen if each.turn))

    def close(self) -> None:
        pass

    def _rated(self, turns: Sequence[Turn]) -> list[float]:
        quoted = "\n".join(f"{number} {said(turn)}" for number, turn in enumerate(turns, start=1))
        properties: dict[str, Any] = {
            "ratings": {"type": "array", "items": NUMBER, "maxItems": len(turns)}
        }
        request = _RATE.format(count=len(turns))
        answer = ask(self._model, "agents-importance", _RULES, quoted, request, properties)
        given = [_rating(each) for each in cast("list[object]", answer.get("ratings", []))]
        # A model that loses count rates the rest as mundane.
        return [*given, *[1.0] * len(turns)][: len(turns)]

    def _reflect(self, stream: _Stream) -> None:
        at = stream.memories[-1].at
        recent = "\n".join(memory.text for memory in stream.memories[-_RECENT:])
        answer = ask(
            self._model, "agents-questions", _RULES, recent, _ASK, {"questions": texts(_SALIENT)}
        )
        known = len(stream.memories)
        for question in cast("list[object]", answer.get("questions", []))[:_SALIENT]:
            if isinstance(question, str) and question.strip():
                places = stream.ranked(question, range(known), at)[:_RETRIEVED]
                self._conclude(stream, question, [stream.memories[place] for place in places], at)

    def _conclude(
        self, stream: _Stream, question: str, statements: list[Memory], at: datetime | None
    ) -> None:
        quoted = "\n".join(f"{n} {each.text}" for n, each in enumerate(statements, start=1))
        insight = {
            "text": TEXT,
            "because_of": {"type": "array", "items": NUMBER, "maxItems": _RETRIEVED},
            "importance": NUMBER,
        }
        answer = ask(
            self._model,
            "agents-insights",
            _RULES,
            quoted,
            _CONCLUDE.format(question=question),
            {"insights": objects(_INSIGHTS, insight)},
        )
        found: list[Memory] = []
        for each in cast("list[object]", answer.get("insights", []))[:_INSIGHTS]:
            given = cast("dict[str, object]", each) if isinstance(each, dict) else {}
            text = " ".join(str(given.get("text", "")).split())
            if text:
                importance = _rating(given.get("importance"))
                found.append(Memory(dated(at, f"(reflection) {text}"), at, importance))
        stream.vectors.add([memory.text for memory in found])
        stream.memories.extend(found)
        if at is not None:
            for statement in statements:
                statement.accessed.append(at)


def _rating(value: object) -> float:
    return min(max(float(value), 1.0), 10.0) if isinstance(value, int | float) else 1.0


def _scaled(values: Sequence[float]) -> list[float]:
    """From 0, the lowest, to 1, the highest; all 0 where they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
