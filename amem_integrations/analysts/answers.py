"""A chat model's JSON, read as proposals.

Types are coerced where there is one way to read them; anything else raises UnusableAnswerError,
whose message can be shown to the model. Formation decides whether a proposal is applied.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from amem_integrations.analysts.prompts import KINDS
from amem_integrations.core.analysis import (
    TURN_KINDS,
    Distilled,
    Evolution,
    IdeaProposal,
    Judgement,
    LinkProposal,
    Understanding,
)
from amem_integrations.core.note import MAX_CONTEXT_CHARS, clean_terms, clean_text

MAX_KEYWORDS = MAX_TAGS = 8
MAX_QUESTIONS = 2
MAX_ITEMS = 32
MAX_REASON_CHARS = 400
MAX_DISTILLED_CHARS = 1_000

Answer = Mapping[str, object]

_HANDLE = re.compile(r"\W*(?:(?:note|candidate)\W*)?(\d{1,4})\W*", re.I)
_SEPARATORS = re.compile(r"[,;\n，；、]")


class UnusableAnswerError(Exception):
    """The answer cannot be read. `reason` is "unparsable", "empty" or "implausible"."""

    def __init__(self, problem: str, *, reason: str = "unparsable") -> None:
        super().__init__(problem)
        self.reason = reason


def understanding(answer: Answer) -> Understanding:
    """Return keywords, tags, context and questions; there must be a keyword.

    There must be a context too, which may be "" for small talk, that answers no question.
    """
    keywords = _terms(answer, "keywords", MAX_KEYWORDS)
    context = _text(answer, "context", MAX_CONTEXT_CHARS)
    questions = _questions(answer)
    if not keywords:
        raise UnusableAnswerError("keywords must not be empty", reason="empty")
    if answer.get("context") is None or (questions and not context):
        raise UnusableAnswerError("context must not be empty", reason="empty")
    return Understanding(keywords, _terms(answer, "tags", MAX_TAGS), context, questions)


def distilled(answer: Answer) -> Distilled | None:
    """Return the note that several come to; None if they come to nothing."""
    text = _text(answer, "text", MAX_DISTILLED_CHARS)
    return Distilled(text, understanding(answer)) if text else None


def links(answer: Answer, offered: Mapping[str, str]) -> list[LinkProposal]:
    """Return link proposals, without links of no strength.

    offered: note ids by handle; any other handle becomes "?…".
    """
    proposals: list[LinkProposal] = []
    for item in _items(answer, "links"):
        weight = _strength(item.get("strength"))
        if weight > 0.0:
            kind = _text(item, "kind", 40).lower()
            proposals.append(
                LinkProposal(
                    to=_note_id(item.get("to"), offered),
                    reason=_text(item, "reason", MAX_REASON_CHARS),
                    kind=kind if kind in KINDS else "related",
                    weight=weight,
                )
            )
    return proposals


def evolutions(answer: Answer, offered: Mapping[str, str]) -> list[Evolution]:
    """Return evolutions; an empty field keeps the old one, and one that keeps all is left out."""
    proposals: list[Evolution] = []
    for item in _items(answer, "evolutions"):
        keywords = _terms(item, "keywords", MAX_KEYWORDS) or None
        tags = _terms(item, "tags", MAX_TAGS) or None
        context = _text(item, "context", MAX_CONTEXT_CHARS) or None
        if keywords or tags or context:
            note_id = _note_id(item.get("note"), offered)
            reason = _text(item, "reason", MAX_REASON_CHARS)
            proposals.append(Evolution(note_id, keywords, tags, context, reason))
    return proposals


def judgement(answer: Answer, offered: Mapping[str, str]) -> Judgement:
    """Return understanding, links and evolutions."""
    return Judgement(
        understanding(answer), tuple(links(answer, offered)), tuple(evolutions(answer, offered))
    )


def ideas(answer: Answer, offered: Mapping[str, str], sentences: int) -> list[IdeaProposal]:
    """Return the ideas of a turn of so many sentences, in order, one at least.

    The first idea begins with the first sentence, each other one later than the one before it.
    """
    found: list[IdeaProposal] = []
    for item in _items(answer, "ideas"):
        place = _handle(item.get("first"))
        first = int(place) - 1 if place.isascii() and place.isdigit() else -1
        least = found[-1].first + 1 if found else 0
        if not least <= first < sentences or (not found and first):
            raise UnusableAnswerError('"first" must rise from 1 through the sentences\' numbers')
        kind = _text(item, "kind", 40).lower()
        if kind not in TURN_KINDS:
            raise UnusableAnswerError(f"kind must be one of {', '.join(TURN_KINDS)}")
        related = kind in ("repetition", "correction")
        of = _note_id(item.get("of"), offered) if related else None
        found.append(IdeaProposal(first, kind, of))
    if not found:
        raise UnusableAnswerError("ideas must hold one idea at least", reason="empty")
    return found


def by_note(answer: Answer, new: Sequence[str]) -> dict[str, Answer]:
    """Return what the answer to a batched question says of each of the handles `new`.

    A handle is missing if it was left out, or answered more than once. Raises
    UnusableAnswerError if all are.
    """
    notes = answer.get("notes")
    named = cast("dict[str, object]", notes) if isinstance(notes, dict) else {}
    if named.keys() & set(new):
        items = [{**cast("Answer", it), "n": n} for n, it in named.items() if isinstance(it, dict)]
    else:
        items = _items(answer, "notes")
    handles = [_handle(item.get("n")) for item in items]
    counts = Counter(handles)
    found = {
        handle: item
        for handle, item in zip(handles, items, strict=True)
        if handle in new and counts[handle] == 1
    }
    if not found:
        raise UnusableAnswerError('"notes" must hold one object for each new note, with its "n"')
    return found


def _questions(answer: Answer) -> tuple[str, ...]:
    value = answer.get("questions")
    # A lone text is one question, whatever commas it has.
    given = {"questions": [value] if isinstance(value, str) else value}
    return _terms(given, "questions", MAX_QUESTIONS)


def _terms(answer: Answer, name: str, limit: int) -> tuple[str, ...]:
    value = answer.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return clean_terms(_SEPARATORS.split(value), limit)
    if isinstance(value, list):
        terms = cast("list[object]", value)
        return clean_terms(
            [str(term) if isinstance(term, int | float) else term for term in terms], limit
        )
    raise UnusableAnswerError(f"{name} must be a list of strings")


def _text(answer: Answer, name: str, limit: int) -> str:
    value = answer.get(name)
    if isinstance(value, list):
        parts = cast("list[object]", value)
        value = " ".join(part for part in parts if isinstance(part, str))
    if value is not None and not isinstance(value, str):
        raise UnusableAnswerError(f"{name} must be a string")
    return clean_text(value or "", limit)


def _items(answer: Answer, name: str) -> Sequence[Answer]:
    value = answer.get(name) or ()
    if isinstance(value, dict):
        value = [cast("object", value)]
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)[:MAX_ITEMS]
        if all(isinstance(item, dict) for item in items):
            return cast("Sequence[Answer]", items)
    raise UnusableAnswerError(f"{name} must be a list of objects")


def _note_id(handle: object, offered: Mapping[str, str]) -> str:
    text = clean_text(str(handle), 40)
    return offered.get(_handle(text), f"?{text}")


def _handle(value: object) -> str:
    text = clean_text(str(value), 40)
    match = _HANDLE.fullmatch(text)
    return str(int(match[1])) if match else text


def _strength(value: object) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) else 1.0
    except (ValueError, OverflowError):
        return 1.0
    return min(1.0, max(0.0, number)) if math.isfinite(number) else 1.0
