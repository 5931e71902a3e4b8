"""How turns are shown to a reader by every system but ours: a line each, with its date.

Also which turns a question may know of, and how many fit a budget.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import fmean

from amem_integrations.core.tokens import estimate_tokens
from amem_integrations.evaluation.dataset import Conversation, Question, Turn
from amem_integrations.evaluation.qa.system import Budget, Cost, Evidence


def line(turn: Turn) -> str:
    """ "[2023-05-07] Caroline: what she said", on one line."""
    return dated(turn.time, said(turn))


def said(turn: Turn) -> str:
    """ "Caroline: what she said", on one line."""
    speaker = turn.speaker or turn.role
    text = " ".join(turn.text.split())
    return f"{speaker}: {text}" if speaker else text


def dated(at: datetime | None, text: str) -> str:
    """The text after its date, where there is one."""
    return text if at is None else f"[{at:%Y-%m-%d}] {text}"


def is_known(at: datetime | None, question: Question) -> bool:
    """Whether what was said then had been said when the question was asked."""
    return question.asked_at is None or at is None or at <= question.asked_at


def known(conversation: Conversation, question: Question) -> list[Turn]:
    """The turns that the question may be answered from, in order."""
    return [turn for turn in conversation.turns if is_known(turn.time, question)]


def moment(conversation: Conversation, question: Question) -> datetime | None:
    """When the question is asked: at the end of the conversation, where it does not say."""
    times = [turn.time for turn in conversation.turns if turn.time is not None]
    return question.asked_at or max(times, default=None)


def days(turns: Iterable[Turn]) -> list[list[Turn]]:
    """The turns of each day, or of each session where no time is known, in order."""
    found: list[list[Turn]] = []
    last: object = None
    for turn in turns:
        day = turn.session if turn.time is None else turn.time.date()
        if not found or day != last:
            found.append([])
        found[-1].append(turn)
        last = day
    return found


def whole(turns: Iterable[Turn]) -> str:
    """All of the turns, each day's under a line with its date: "[2023-05-07]"."""
    lines: list[str] = []
    for day in days(turns):
        heading = dated(day[0].time, "").strip()
        lines += [heading, *map(said, day)] if heading else map(said, day)
    return "\n".join(lines)


def tokens(text: str) -> int:
    """Of the text as a line of its own."""
    return estimate_tokens(text + "\n")


def fitting(lines: Sequence[str], budget: Budget, used: int = 0) -> list[int]:
    """The places of the lines, best first, that the budget has room for beside `used` tokens.

    A line is whole or not there: the next one that fits takes its place.
    """
    chosen: list[int] = []
    for place, text in enumerate(lines):
        if len(chosen) == budget.k:
            break
        took = tokens(text)
        if budget.tokens is None or used + took <= budget.tokens:
            chosen.append(place)
            used += took
    return chosen


def shown(best: Sequence[Turn], conversation: Conversation, budget: Budget) -> Evidence:
    """The best turns that fit, as lines in the order in which they were said."""
    chosen = [best[place] for place in fitting([line(turn) for turn in best], budget)]
    places = {turn.id: place for place, turn in enumerate(conversation.turns)}
    in_order = sorted(chosen, key=lambda turn: places[turn.id])
    return Evidence("\n".join(map(line, in_order)), tuple(turn.id for turn in chosen))


def expected(conversation: Conversation, budget: Budget) -> Cost:
    """What `shown` comes to, without a model."""
    mean = fmean(tokens(line(turn)) for turn in conversation.turns) if conversation.turns else 0
    most = round(mean * min(budget.k, len(conversation.turns)))
    return Cost(evidence=most if budget.tokens is None else min(most, budget.tokens))
