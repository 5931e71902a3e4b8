"""MemGPT: a small context that the model manages, and everything else paged in by its calls.

After Packer et al. 2023, "MemGPT: Towards LLMs as Operating Systems" (arXiv 2310.08560),
section 2: main context, queue manager, function executor.
"""

from dataclasses import dataclass
from datetime import datetime

from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import Budget, Cost, Evidence, Means
from amem_integrations.evaluation.qa.systems.asking import (
    NUMBER,
    TEXT,
    ask,
    one_of,
    required,
    tokens_of,
)
from amem_integrations.evaluation.qa.systems.showing import is_known, known, line, tokens
from amem_integrations.evaluation.qa.systems.vectors import Vectors

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
_FUNCTIONS = {"function": one_of(["search", "answer"]), "query": TEXT, "page": NUMBER}


@dataclass(frozen=True)
class Held:
    """Main context after a flush: `first` is the place of the oldest turn still in the queue."""

    at: datetime | None
    summary: str
    facts: tuple[str, ...]
    first: int

    def lines(self) -> list[str]:
        head = [f"Summary of earlier talk: {self.summary}"] if self.summary else []
        return [*head, *(f"Working context: {fact}" for fact in self.facts)]


class MemGPT:
    """Working context, recursive summary, the latest messages, and the pages that were searched.

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
        self._model = required(means, self.name, "manages its context by function calls")
        self._embedder = means.embedder
        self._window, self._steps = window, steps
        self._held: dict[str, list[Held]] = {}
        self._stored: dict[str, Vectors] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        total = sum(tokens(line(turn)) for turn in conversation.turns)
        flushes = 2 * max(0, total - self._window) // self._window
        asked = len(conversation.questions)
        context = min(total, self._window) + 400
        # Two searches and the call that ends them, as a guess.
        return Cost(
            flushes + 3 * asked,
            flushes * (self._window // 2 + 400) + 3 * asked * tokens_of("") + 3 * asked * context,
            flushes * 250 + 3 * asked * 30,
            context if budget.tokens is None else min(context, budget.tokens),
        )

    def prepare(self, conversation: Conversation) -> None:
        lines = [line(turn) for turn in conversation.turns]
        held = [Held(None, "", (), 0)]
        used = 0
        for place, turn in enumerate(conversation.turns):
            used += tokens(lines[place])
            if used <= self._window:
                continue
            first = held[-1].first
            until = first
            while until < place and used > self._window // 2:
                used -= tokens(lines[until])
                until += 1
            held.append(self._flushed(held[-1], lines[first:until], turn, until))
        self._held[conversation.id] = held
        self._stored[conversation.id] = Vectors(self._embedder, lines)

    def _flushed(self, before: Held, evicted: list[str], turn: Turn, first: int) -> Held:
        quoted = "\n".join([*before.lines(), *evicted]) + _WARNING
        answer = ask(
            self._model, "memgpt-flush", _RULES, quoted, _FLUSH, {"summary": TEXT, "facts": TEXT}
        )
        written = (" ".join(each.split()) for each in answer.get("facts", "").splitlines())
        facts = dict.fromkeys([*before.facts, *(each for each in written if each)])
        summary = " ".join(answer.get("summary", before.summary).split())
        return Held(turn.time, summary, tuple(facts), first)

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        held = [each for each in self._held[conversation.id] if is_known(each.at, question)][-1]
        turns = known(conversation, question)
        places = {turn.id: place for place, turn in enumerate(conversation.turns)}
        queue = [turn for turn in turns if places[turn.id] >= held.first]
        paged = self._searched(conversation, question, held, turns, queue)
        return _shown(held, paged, queue, places, budget)

    def _searched(
        self,
        conversation: Conversation,
        question: Question,
        held: Held,
        turns: list[Turn],
        queue: list[Turn],
    ) -> list[Turn]:
        """The turns that the model's calls brought up, in the order in which they came."""
        vectors = self._stored[conversation.id]
        places = {turn.id: place for place, turn in enumerate(conversation.turns)}
        context = [*held.lines(), *map(line, queue)]
        paged: dict[str, Turn] = {}
        for left in range(self._steps, 0, -1):
            request = _CALL.format(question=question.text, size=_PAGE, left=left)
            call = ask(self._model, "memgpt-call", _RULES, "\n".join(context), request, _FUNCTIONS)
            query = str(call.get("query", "")).strip()
            if call.get("function") != "search" or not query:
                break
            cosines = vectors.cosines(query)
            best = sorted(turns, key=lambda turn: -cosines[places[turn.id]])
            start = (max(int(call.get("page", 1)), 1) - 1) * _PAGE
            page = best[start : start + _PAGE]
            context += [f"Found for {query!r}, page {start // _PAGE + 1}:", *map(line, page)]
            paged |= {turn.id: turn for turn in page}
        return list(paged.values())

    def close(self) -> None:
        pass


def _shown(
    held: Held, paged: list[Turn], queue: list[Turn], places: dict[str, int], budget: Budget
) -> Evidence:
    chosen: dict[str, Turn] = {}
    left = float("inf") if budget.tokens is None else float(budget.tokens)
    for turn in [*paged, *reversed(queue)]:
        if turn.id not in chosen and (took := tokens(line(turn))) <= left:
            chosen[turn.id] = turn
            left -= took
    head: list[str] = []
    for text in held.lines():
        if (took := tokens(text)) <= left:
            head.append(text)
            left -= took
    in_order = sorted(chosen.values(), key=lambda turn: places[turn.id])
    return Evidence("\n".join([*head, *map(line, in_order)]), tuple(chosen))
