"""ReadAgent: a long text read page by page, kept as gists, and looked up where it matters.

After Lee et al. 2024, "A Human-Inspired Reading Agent with Gist Memory of Very Long Contexts"
(arXiv 2402.09727), section 3: episode pagination, memory gisting, parallel look-up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import Budget, Cost, Evidence, Means
from amem_integrations.evaluation.qa.systems.asking import NUMBER, TEXT, ask, required, tokens_of
from amem_integrations.evaluation.qa.systems.showing import dated, is_known, said, tokens, whole

_RULES = "You read a long conversation and remember it."
_PAUSE = (
    "Each line begins with its number. After which line is the most natural place to pause "
    'reading: where a scene, a topic or a session ends? Give its number as "after", from '
    "{first} to {last}."
)
_SHORTEN = (
    'Shorten this part of the conversation. "gist" keeps who said what that matters, names and '
    "dates, and leaves out the rest; it explains nothing."
)
_LOOK_UP = (
    "Above are your memories of the pages of a conversation. To answer the question below, "
    'which pages do you want to read again in full? "pages": their numbers, the most useful '
    "first, at most {most}; none if the memories are enough.\nQuestion: {question}"
)


@dataclass(frozen=True)
class Page:
    """Turns in a row, and what is remembered of them."""

    turns: tuple[Turn, ...]
    gist: str

    def is_known(self, question: Question) -> bool:
        return all(is_known(turn.time, question) for turn in self.turns)


class ReadAgent:
    """Gists of all pages, with the pages that the model asks for in full in their places.

    With the paper: the model chooses where each page ends, within `least` and `most` words (280
    and 600 there); gists are prompted by shortening; look-up is parallel (ReadAgent-P), up to
    `pages` at once. Simplified: paragraphs are turns; a page that is not over when the question
    is asked is left out; of the pages asked for, those that a token budget has no room for are
    left as gists, and so are the oldest gists given up. Turns of pages read again are evidence.
    """

    name = "readagent"

    def __init__(self, means: Means, *, least: int = 280, most: int = 600, pages: int = 5) -> None:
        self._model = required(means, self.name, "pages, shortens and looks up")
        self._least, self._most, self._pages = least, most, pages
        self._read: dict[str, list[Page]] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        text = whole(conversation.turns)
        pages = max(1, 2 * len(text.split()) // (self._least + self._most))
        read, gists = tokens_of(text), 120 * pages
        asked = len(conversation.questions)
        evidence = gists + self._pages * read // pages
        return Cost(
            2 * pages + asked,
            3 * read + 300 * pages + asked * (gists + 200),
            pages * 130 + 20 * asked,
            min(evidence, read) if budget.tokens is None else min(evidence, read, budget.tokens),
        )

    def prepare(self, conversation: Conversation) -> None:
        pages: list[Page] = []
        left = list(conversation.turns)
        while left:
            taken = self._page_end(left)
            turns, left = tuple(left[:taken]), left[taken:]
            answer = ask(
                self._model, "readagent-gist", _RULES, whole(turns), _SHORTEN, {"gist": TEXT}
            )
            pages.append(Page(turns, " ".join(answer.get("gist", "").split())))
        self._read[conversation.id] = pages

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        pages = [page for page in self._read[conversation.id] if page.is_known(question)]
        if not pages:
            return Evidence("")
        gists = [_gist(number, page) for number, page in enumerate(pages, start=1)]
        request = _LOOK_UP.format(most=self._pages, question=question.text)
        properties: dict[str, Any] = {
            "pages": {"type": "array", "items": NUMBER, "maxItems": self._pages}
        }
        answer = ask(self._model, "readagent-lookup", _RULES, "\n".join(gists), request, properties)
        wanted = [
            int(number) - 1
            for number in cast("list[object]", answer.get("pages", []))
            if isinstance(number, int | float) and 1 <= number <= len(pages)
        ]
        shown: list[str | None] = [*gists]
        used = sum(map(tokens, gists))
        for place in range(len(pages)):
            if budget.tokens is not None and used > budget.tokens:
                shown[place] = None
                used -= tokens(gists[place])
        turns: list[Turn] = []
        for place in list(dict.fromkeys(wanted))[: self._pages]:
            full = _full(place + 1, pages[place])
            instead = shown[place]
            more = tokens(full) - (0 if instead is None else tokens(instead))
            if budget.tokens is None or used + more <= budget.tokens:
                shown[place] = full
                used += more
                turns += pages[place].turns
        text = "\n".join(each for each in shown if each is not None)
        return Evidence(text, tuple(turn.id for turn in turns))

    def close(self) -> None:
        pass

    def _page_end(self, turns: Sequence[Turn]) -> int:
        """How many turns the next page has."""
        first = last = words = 0
        for count, turn in enumerate(turns, start=1):
            words += len(said(turn).split())
            if words >= self._least and not first:
                first = count
            if words > self._most and first:
                break
            last = count
        last = max(last, first)
        if not first or last == len(turns) or first == last:
            return last
        lines = [f"{number} {said(turn)}" for number, turn in enumerate(turns[:last], start=1)]
        request = _PAUSE.format(first=first, last=last)
        answer = ask(
            self._model, "readagent-page", _RULES, "\n".join(lines), request, {"after": NUMBER}
        )
        return min(max(int(answer.get("after", last)), first), last)


def _gist(number: int, page: Page) -> str:
    return f"Page {number}: {dated(page.turns[0].time, page.gist)}"


def _full(number: int, page: Page) -> str:
    return f"Page {number}, in full:\n{whole(page.turns)}"
