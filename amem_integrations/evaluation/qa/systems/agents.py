"""Two agents that manage their memory: Generative Agents and MemGPT."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import (
    NUMBER,
    TEXT,
    Budget,
    Cost,
    Evidence,
    Means,
    ask,
    asked_at,
    dated,
    expected_cost,
    fitting,
    is_known,
    known_turns,
    line,
    line_tokens,
    numbers,
    prompt_tokens,
    required_model,
    schemas,
    spoken,
    transcript,
)
from amem_integrations.evaluation.vectors import Vectors

_DECAY, _HOUR = 0.995, 3600.0
_REFLECT_AT = 150.0
_RECENT, _SALIENT, _INSIGHTS, _RETRIEVED = 100, 3, 5, 10
_RATED = 20
_STREAM_RULES = "You keep the memories of somebody who takes part in a conversation."
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
_INSIGHT = {"text": TEXT, "because_of": numbers(_RETRIEVED), "importance": NUMBER}


@dataclass
class Memory:
    """An entry of the stream: a turn as it was heard, or a reflection (turn is None)."""

    text: str
    at: datetime | None
    importance: float
    turn: Turn | None = None
    accessed: list[datetime] = field(default_factory=list[datetime])

    def recency(self, at: datetime | None) -> float:
        """Return 0.995 for each hour since it was made or retrieved."""
        if at is None or self.at is None:
            return 1.0
        last = max([self.at, *(moment for moment in self.accessed if moment <= at)])
        return _DECAY ** max((at - last).total_seconds() / _HOUR, 0.0)


@dataclass
class _Stream:
    vectors: Vectors
    memories: list[Memory] = field(default_factory=list[Memory])

    def ranked(self, query: str, places: Iterable[int], at: datetime | None) -> list[int]:
        """Return the places of memories, the best first."""
        places = list(places)
        cosines = self.vectors.cosines(query)
        parts = (
            _scale([self.memories[place].recency(at) for place in places]),
            _scale([self.memories[place].importance for place in places]),
            _scale([cosines[place] for place in places]),
        )
        scores = dict(zip(places, map(sum, zip(*parts, strict=True)), strict=True))
        return sorted(places, key=lambda place: -scores[place])


class GenerativeAgents:
    """Generative Agents (Park et al. 2023, arXiv 2304.03442, sections 4.1 and 4.2).

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
        self._model = required_model(means, self.name, "rates importance and reflects")
        self._embedder = means.embedder
        self._reflect_at = reflect_at
        self._streams: dict[str, _Stream] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        turns = len(conversation.turns)
        ratings = -(-turns // _RATED)
        # With three points a turn, as chat has.
        reflections = int(3 * turns // self._reflect_at)
        read = prompt_tokens(transcript(conversation.turns)) + 150 * ratings
        recent = min(_RECENT, turns) * 40 + _SALIENT * _RETRIEVED * 40 + 600
        return Cost(
            ratings + (1 + _SALIENT) * reflections,
            read + recent * reflections,
            60 * ratings + 800 * reflections,
            expected_cost(conversation, budget).evidence,
        )

    def prepare(self, conversation: Conversation) -> None:
        stream = _Stream(Vectors(self._embedder))
        since = 0.0
        for start in range(0, len(conversation.turns), _RATED):
            turns = conversation.turns[start : start + _RATED]
            stream.vectors.add([line(turn) for turn in turns])
            for turn, importance in zip(turns, self._rate(turns), strict=True):
                stream.memories.append(Memory(line(turn), turn.time, importance, turn))
                since += importance
            if since >= self._reflect_at:
                self._reflect(stream)
                since = 0.0
        self._streams[conversation.id] = stream

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        stream = self._streams[conversation.id]
        memories = stream.memories
        known = (place for place, each in enumerate(memories) if is_known(each.at, question))
        ranked = stream.ranked(question.text, known, asked_at(conversation, question))
        best = [memories[place] for place in ranked]
        chosen = [best[place] for place in fitting([memory.text for memory in best], budget)]
        text = "\n".join(memory.text for memory in chosen)
        return Evidence(text, tuple(memory.turn.id for memory in chosen if memory.turn))

    def close(self) -> None:
        pass

    def _rate(self, turns: Sequence[Turn]) -> list[float]:
        quoted = "\n".join(f"{number} {spoken(turn)}" for number, turn in enumerate(turns, start=1))
        request = _RATE.format(count=len(turns))
        properties = {"ratings": numbers(len(turns))}
        answer = ask(self._model, "agents-importance", _STREAM_RULES, quoted, request, properties)
        given = [_rating(value) for value in cast("list[object]", answer.get("ratings", []))]
        # If the model loses count, the rest is mundane.
        return [*given, *[1.0] * len(turns)][: len(turns)]

    def _reflect(self, stream: _Stream) -> None:
        at = stream.memories[-1].at
        recent = "\n".join(memory.text for memory in stream.memories[-_RECENT:])
        properties = {"questions": schemas.texts(_SALIENT)}
        answer = ask(self._model, "agents-questions", _STREAM_RULES, recent, _ASK, properties)
        known = len(stream.memories)
        for question in cast("list[object]", answer.get("questions", []))[:_SALIENT]:
            if isinstance(question, str) and question.strip():
                places = stream.ranked(question, range(known), at)[:_RETRIEVED]
                self._conclude(stream, question, [stream.memories[place] for place in places], at)

    def _conclude(
        self, stream: _Stream, question: str, statements: list[Memory], at: datetime | None
    ) -> None:
        quoted = "\n".join(f"{n} {memory.text}" for n, memory in enumerate(statements, start=1))
        request = _CONCLUDE.format(question=question)
        properties = {"insights": schemas.objects(_INSIGHTS, _INSIGHT)}
        answer = ask(self._model, "agents-insights", _STREAM_RULES, quoted, request, properties)
        found: list[Memory] = []
        for value in cast("list[object]", answer.get("insights", []))[:_INSIGHTS]:
            insight = cast("dict[str, object]", value) if isinstance(value, dict) else {}
            text = " ".join(str(insight.get("text", "")).split())
            if text:
                importance = _rating(insight.get("importance"))
                found.append(Memory(dated(at, f"(reflection) {text}"), at, importance))
        stream.vectors.add([memory.text for memory in found])
        stream.memories.extend(found)
        if at is not None:
            for statement in statements:
                statement.accessed.append(at)


def _rating(value: object) -> float:
    return min(max(float(value), 1.0), 10.0) if isinstance(value, int | float) else 1.0


def _scale(values: Sequence[float]) -> list[float]:
    """Scale from 0, the lowest, to 1, the highest; all 0 if they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


_PAGE = 10
_WARNING = "\n(Your memory is nearly full: write down what must stay at hand.)"
_RULES = "You are an assistant whose context is limited and who manages its own memory."
_FLUSH = (
    'The oldest messages leave your context. "summary" takes the place of the summary so far: '
    'it recounts that and these messages, in at most ten sentences. "facts" are lines to add to '
    'your working context, "" for none: what must stay at hand about the people who talk.'
)
_CALL = (
    'Question: {question}\nYou may call one function: "search" looks for "query" among all '
    'messages ever said, {size} a page, "page" from 1; "answer" ends the search, when the '
    "context has what the question asks for. You have {left} calls left."
)
_FUNCTIONS: dict[str, Any] = {
    "function": schemas.one_of(["search", "answer"]),
    "query": TEXT,
    "page": NUMBER,
}


@dataclass(frozen=True)
class _Context:
    """Main context after a flush. first: the place of the oldest turn still in the queue."""

    at: datetime | None
    summary: str
    facts: tuple[str, ...]
    first: int

    def lines(self) -> list[str]:
        head = [f"Summary of earlier talk: {self.summary}"] if self.summary else []
        return [*head, *(f"Working context: {fact}" for fact in self.facts)]


class MemGPT:
    """MemGPT (Packer et al. 2023, arXiv 2310.08560, section 2): a small context, the rest paged in.

    With the paper: messages enter a first-in first-out queue; at 70% of `window` tokens the
    model is warned and may write to its working context, beyond it the older half is evicted
    into a recursive summary; what was evicted is reached by searches, page by page, that the
    model chains, at most `steps` for a question. Simplified: warning and eviction are one call;
    recall and archival storage are one, searched by cosine; working context only grows, by what
    a flush adds. MemGPT would answer itself; here the reader that all systems share answers from
    its main context. Under a token budget, pages go first, then the newest messages, and what
    the flushes kept as far as it fits.
    """

    name = "memgpt"

    def __init__(self, means: Means, *, window: int = 4000, steps: int = 5) -> None:
        self._model = required_model(means, self.name, "manages its context by function calls")
        self._embedder = means.embedder
        self._window, self._steps = window, steps
        self._contexts: dict[str, list[_Context]] = {}
        self._vectors: dict[str, Vectors] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        total = sum(line_tokens(line(turn)) for turn in conversation.turns)
        flushes = 2 * max(0, total - self._window) // self._window
        context = min(total, self._window) + 400
        # Two searches and the call that ends them, as a guess.
        calls = 3 * len(conversation.questions)
        return Cost(
            flushes + calls,
            flushes * (self._window // 2 + 400) + calls * (prompt_tokens("") + context),
            flushes * 250 + calls * 30,
            context if budget.tokens is None else min(context, budget.tokens),
        )

    def prepare(self, conversation: Conversation) -> None:
        lines = [line(turn) for turn in conversation.turns]
        contexts = [_Context(None, "", (), 0)]
        used = 0
        for place, turn in enumerate(conversation.turns):
            used += line_tokens(lines[place])
            if used <= self._window:
                continue
            first = end = contexts[-1].first
            while end < place and used > self._window // 2:
                used -= line_tokens(lines[end])
                end += 1
            contexts.append(self._flush(contexts[-1], lines[first:end], turn, end))
        self._contexts[conversation.id] = contexts
        self._vectors[conversation.id] = Vectors(self._embedder, lines)

    def _flush(self, before: _Context, evicted: list[str], turn: Turn, first: int) -> _Context:
        quoted = "\n".join([*before.lines(), *evicted]) + _WARNING
        properties = {"summary": TEXT, "facts": TEXT}
        answer = ask(self._model, "memgpt-flush", _RULES, quoted, _FLUSH, properties)
        written = (" ".join(fact.split()) for fact in answer.get("facts", "").splitlines())
        facts = dict.fromkeys([*before.facts, *(fact for fact in written if fact)])
        summary = " ".join(answer.get("summary", before.summary).split())
        return _Context(turn.time, summary, tuple(facts), first)

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        contexts = self._contexts[conversation.id]
        context = [each for each in contexts if is_known(each.at, question)][-1]
        turns = known_turns(conversation, question)
        places = {turn.id: place for place, turn in enumerate(conversation.turns)}
        queue = [turn for turn in turns if places[turn.id] >= context.first]
        paged = self._search(conversation, question, context, turns, queue)
        left = float("inf") if budget.tokens is None else float(budget.tokens)
        chosen: dict[str, Turn] = {}
        for turn in [*paged, *reversed(queue)]:
            if turn.id not in chosen and (took := line_tokens(line(turn))) <= left:
                chosen[turn.id] = turn
                left -= took
        head: list[str] = []
        for text in context.lines():
            if (took := line_tokens(text)) <= left:
                head.append(text)
                left -= took
        in_order = [line(turn) for turn in conversation.turns if turn.id in chosen]
        return Evidence("\n".join([*head, *in_order]), tuple(chosen))

    def _search(
        self,
        conversation: Conversation,
        question: Question,
        context: _Context,
        turns: list[Turn],
        queue: list[Turn],
    ) -> list[Turn]:
        """Return the turns that the model's calls brought up, in the order in which they came."""
        vectors = self._vectors[conversation.id]
        places = {turn.id: place for place, turn in enumerate(conversation.turns)}
        lines = [*context.lines(), *map(line, queue)]
        paged: dict[str, Turn] = {}
        for left in range(self._steps, 0, -1):
            request = _CALL.format(question=question.text, size=_PAGE, left=left)
            call = ask(self._model, "memgpt-call", _RULES, "\n".join(lines), request, _FUNCTIONS)
            query = str(call.get("query", "")).strip()
            if call.get("function") != "search" or not query:
                break
            cosines = vectors.cosines(query)
            best = sorted(turns, key=lambda turn: -cosines[places[turn.id]])
            start = (max(int(call.get("page", 1)), 1) - 1) * _PAGE
            page = best[start : start + _PAGE]
            lines += [f"Found for {query!r}, page {start // _PAGE + 1}:", *map(line, page)]
            paged |= {turn.id: turn for turn in page}
        return list(paged.values())

    def close(self) -> None:
        pass
