"""Two memories that summarise what was said: MemoryBank and ReadAgent."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

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
    days,
    expected_cost,
    fitting,
    is_known,
    line,
    line_tokens,
    numbers,
    prompt_tokens,
    required_model,
    spoken,
    transcript,
)
from amem_integrations.evaluation.vectors import Vectors

_RECALLED = 3
_DAY = 86_400.0
_BANK_RULES = "You keep the memory of a companion that talks with people over months."
_DAY_REQUEST = (
    'From this day\'s conversation: "events" sums up what happened and was told, in a few '
    'sentences with names and dates; "people" says what it shows of the speakers\' character, '
    "moods and preferences, in one or two sentences."
)
_ALL_REQUEST = (
    'From these daily summaries: "events" sums up the whole time, in at most five sentences; '
    '"people" is a portrait of each speaker, in at most two sentences each.'
)
_SUMMARY = {"events": TEXT, "people": TEXT}


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
        recalls = [moment for moment in self.recalls if moment <= at]
        elapsed = (at - max(recalls, default=self.at)).total_seconds() / _DAY
        return math.exp(-max(elapsed, 0.0) / (1 + len(recalls)))

    def is_kept(self, at: datetime | None) -> bool:
        """Return whether it is remembered then; what is forgotten never comes back."""
        return self.chance < self.retention(at)


@dataclass
class _Bank:
    pieces: list[Piece]
    vectors: Vectors
    head: list[str]


class MemoryBank:
    """MemoryBank (Zhong et al. 2024, arXiv 2305.10250, sections 2.1 to 2.3): memories that fade.

    Turns and daily summaries by dense retrieval, as far as the forgetting curve has left them.
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
        self._banks: dict[str, _Bank] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        cost = expected_cost(conversation, budget)
        if self._means.model is None:
            return cost
        found = days(conversation.turns)
        read = sum(prompt_tokens("\n".join(map(spoken, day))) for day in found) + 150 * len(found)
        return Cost(len(found) + 1, read, 150 * (len(found) + 1), cost.evidence + 300)

    def prepare(self, conversation: Conversation) -> None:
        draw = random.Random(f"{self._means.seed} {conversation.id}")
        pieces: list[Piece] = []
        events: list[str] = []
        people: list[str] = []
        for day in days(conversation.turns):
            pieces += [Piece(line(turn), turn.time, turn, draw.random()) for turn in day]
            if self._means.model is not None:
                text = "\n".join(map(spoken, day))
                summary = self._summary("memorybank-day", text, _DAY_REQUEST)
                at = day[-1].time
                events.append(dated(at, f"(summary of the day) {summary['events']}"))
                people.append(summary["people"])
                pieces.append(Piece(events[-1], at, None, draw.random()))
        head: list[str] = []
        if events:
            summary = self._summary("memorybank-all", "\n".join([*events, *people]), _ALL_REQUEST)
            named = (("Summary", summary["events"]), ("Portrait", summary["people"]))
            head = [f"{name}: {text}" for name, text in named if text]
        vectors = Vectors(self._means.embedder, [piece.text for piece in pieces])
        bank = _Bank(pieces, vectors, head)
        _rehearse(bank)
        self._banks[conversation.id] = bank

    def _summary(self, step: str, text: str, request: str) -> dict[str, str]:
        model = required_model(self._means, "memorybank", "sums up")
        answer = ask(model, step, _BANK_RULES, text, request, _SUMMARY)
        return {name: " ".join(answer.get(name, "").split()) for name in _SUMMARY}

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        bank = self._banks[conversation.id]
        at = asked_at(conversation, question)
        cosines = bank.vectors.cosines(question.text)
        kept = [
            place
            for place, piece in enumerate(bank.pieces)
            if is_known(piece.at, question) and piece.is_kept(at)
        ]
        best = [bank.pieces[place] for place in sorted(kept, key=lambda place: -cosines[place])]
        # The summary of everything knows what is still to come.
        known = all(is_known(turn.time, question) for turn in conversation.turns)
        head = bank.head if known else []
        used = sum(map(line_tokens, head))
        if budget.tokens is not None and used > budget.tokens // 2:
            head, used = [], 0
        texts = [piece.text for piece in best]
        chosen = [best[place] for place in fitting(texts, budget, used)]
        lines = [*head, *(piece.text for piece in chosen)]
        return Evidence("\n".join(lines), tuple(piece.turn.id for piece in chosen if piece.turn))

    def close(self) -> None:
        pass


def _rehearse(bank: _Bank) -> None:
    """Let each turn, in order, recall the nearest pieces of earlier days."""
    for place, piece in enumerate(bank.pieces):
        at = piece.at
        if piece.turn is None or at is None:
            continue
        cosines = bank.vectors.similarities(place)
        earlier = [
            other
            for other in range(place)
            if (before := bank.pieces[other].at) is not None
            and before.date() < at.date()
            and bank.pieces[other].is_kept(at)
        ]
        for other in sorted(earlier, key=lambda other: -cosines[other])[:_RECALLED]:
            bank.pieces[other].recalls.append(at)


_PAGE_RULES = "You read a long conversation and remember it."
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
class _Page:
    """Turns in a row, and what is remembered of them."""

    number: int
    turns: tuple[Turn, ...]
    gist: str

    def is_known(self, question: Question) -> bool:
        return all(is_known(turn.time, question) for turn in self.turns)

    @property
    def short(self) -> str:
        return f"Page {self.number}: {dated(self.turns[0].time, self.gist)}"

    @property
    def full(self) -> str:
        return f"Page {self.number}, in full:\n{transcript(self.turns)}"


class ReadAgent:
    """ReadAgent (Lee et al. 2024, arXiv 2402.09727, section 3): pages, gists and look-up.

    Gists of all pages, with the pages that the model asks for in full in their places. With the
    paper: the model chooses where each page ends, within `least` and `most` words (280 and 600
    there); gists are prompted by shortening; look-up is parallel (ReadAgent-P), up to `pages` at
    once. Simplified: paragraphs are turns; a page that is not over when the question is asked is
    left out; of the pages asked for, those that a token budget has no room for are left as gists,
    and so are the oldest gists given up. Turns of pages read again are evidence.
    """

    name = "readagent"

    def __init__(self, means: Means, *, least: int = 280, most: int = 600, pages: int = 5) -> None:
        self._model = required_model(means, self.name, "pages, shortens and looks up")
        self._least, self._most, self._most_pages = least, most, pages
        self._pages: dict[str, list[_Page]] = {}

    def cost(self, conversation: Conversation, budget: Budget) -> Cost:
        text = transcript(conversation.turns)
        pages = max(1, 2 * len(text.split()) // (self._least + self._most))
        read, gists = prompt_tokens(text), 120 * pages
        asked = len(conversation.questions)
        evidence = min(gists + self._most_pages * read // pages, read)
        return Cost(
            2 * pages + asked,
            3 * read + 300 * pages + asked * (gists + 200),
            pages * 130 + 20 * asked,
            evidence if budget.tokens is None else min(evidence, budget.tokens),
        )

    def prepare(self, conversation: Conversation) -> None:
        pages: list[_Page] = []
        left = conversation.turns
        while left:
            taken = self._page_end(left)
            turns, left = left[:taken], left[taken:]
            text, properties = transcript(turns), {"gist": TEXT}
            answer = ask(self._model, "readagent-gist", _PAGE_RULES, text, _SHORTEN, properties)
            pages.append(_Page(len(pages) + 1, turns, " ".join(answer.get("gist", "").split())))
        self._pages[conversation.id] = pages

    def evidence(self, conversation: Conversation, question: Question, budget: Budget) -> Evidence:
        pages = [page for page in self._pages[conversation.id] if page.is_known(question)]
        if not pages:
            return Evidence("")
        shown: list[str | None] = [page.short for page in pages]
        wanted = self._look_up(question, pages)
        used = sum(line_tokens(page.short) for page in pages)
        for place, page in enumerate(pages):
            if budget.tokens is not None and used > budget.tokens:
                shown[place] = None
                used -= line_tokens(page.short)
        turns: list[Turn] = []
        for place in wanted:
            page, before = pages[place], shown[place]
            more = line_tokens(page.full) - (0 if before is None else line_tokens(before))
            if budget.tokens is None or used + more <= budget.tokens:
                shown[place] = page.full
                used += more
                turns += page.turns
        text = "\n".join(text for text in shown if text is not None)
        return Evidence(text, tuple(turn.id for turn in turns))

    def close(self) -> None:
        pass

    def _look_up(self, question: Question, pages: Sequence[_Page]) -> list[int]:
        """Return the places of the pages that the model wants to read again, each once."""
        text = "\n".join(page.short for page in pages)
        request = _LOOK_UP.format(most=self._most_pages, question=question.text)
        properties = {"pages": numbers(self._most_pages)}
        answer = ask(self._model, "readagent-lookup", _PAGE_RULES, text, request, properties)
        wanted = [
            int(number) - 1
            for number in cast("list[object]", answer.get("pages", []))
            if isinstance(number, int | float) and 1 <= number <= len(pages)
        ]
        return list(dict.fromkeys(wanted))[: self._most_pages]

    def _page_end(self, turns: Sequence[Turn]) -> int:
        """Return how many turns the next page has."""
        first = last = words = 0
        for count, turn in enumerate(turns, start=1):
            words += len(spoken(turn).split())
            if words >= self._least and not first:
                first = count
            if words > self._most and first:
                break
            last = count
        last = max(last, first)
        if not first or last == len(turns) or first == last:
            return last
        text = "\n".join(f"{n} {spoken(turn)}" for n, turn in enumerate(turns[:last], start=1))
        request = _PAUSE.format(first=first, last=last)
        answer = ask(self._model, "readagent-page", _PAGE_RULES, text, request, {"after": NUMBER})
        return min(max(int(answer.get("after", last)), first), last)
