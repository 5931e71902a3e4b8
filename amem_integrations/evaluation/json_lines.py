"""Our own format: a line of JSON for each turn and each question, as "Measuring" describes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Defects, Question, Turn
from amem_integrations.evaluation.fields import Fields

NAME = "json-lines"
_TURN = frozenset(("conversation", "turn", "speaker", "role", "session", "time", "text"))
_QUESTION = frozenset(
    (
        "conversation",
        "question",
        "evidence",
        "category",
        "asked_at",
        "core",
        "answer",
        "adversarial_answer",
    )
)
_ONLY = "conversation"
_ANY = "all"


@dataclass
class _Read:
    turns: list[Turn] = field(default_factory=list[Turn])
    questions: list[Question] = field(default_factory=list[Question])


def conversations(
    lines: Iterable[str], defects: Defects, limit: int | None = None
) -> list[Conversation]:
    """In the order in which the file first names them, at most `limit`.

    Raises InvalidInputError with the number of a line that is neither turn nor question.
    """
    read: dict[str, _Read] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = _entry(line, f"line {number}")
        id = entry.id("conversation") if "conversation" in entry.value else _ONLY
        held = read.setdefault(id, _Read())
        if "question" in entry.value:
            held.questions.append(_question(_known(entry, _QUESTION)))
        else:
            held.turns.append(_turn(_known(entry, _TURN)))
    found: list[Conversation] = []
    for id, held in list(read.items())[:limit]:
        turns = defects.said(held.turns)
        found.append(Conversation(id, turns, defects.answerable(held.questions, turns)))
    return found


def _entry(line: str, where: str) -> Fields:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise InvalidInputError(f"{where} is not JSON: {reason}.") from error
    return Fields.of(value, where)


def _known(entry: Fields, names: frozenset[str]) -> Fields:
    if unknown := sorted(entry.value.keys() - names):
        kind = "question" if names is _QUESTION else "turn"
        raise InvalidInputError(
            f"{entry.where}: a {kind} has no {', '.join(map(repr, unknown))}; it may have "
            f"{', '.join(sorted(names))}."
        )
    return entry


def _turn(entry: Fields) -> Turn:
    return Turn(
        entry.id("turn"),
        entry.text("text"),
        entry.optional("speaker"),
        entry.optional("role"),
        entry.id("session") if entry.value.get("session") is not None else None,
        entry.moment("time"),
    )


def _question(entry: Fields) -> Question:
    return Question(
        entry.text("question"),
        tuple(entry.ids("evidence")),
        entry.optional("category") or _ANY,
        entry.moment("asked_at"),
        entry.flag("core", True),
        entry.said("answer"),
        entry.said("adversarial_answer"),
    )
