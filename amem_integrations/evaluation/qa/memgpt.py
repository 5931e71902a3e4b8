"""MemGPT: a small context, with the rest of the conversation paged in by the model."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amem_integrations.analysts import prompts as schemas
from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import (
    NUMBER,
    TEXT,
    Budget,
    Cost,
    Evidence,
    Means,
    ask,
    is_known,
    known_turns,
    line,
    line_tokens,
    prompt_tokens,
    required_model,
)
from amem_integrations.evaluation.vectors import Vectors

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
