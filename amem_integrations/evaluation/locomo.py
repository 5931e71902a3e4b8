"""LoCoMo's format (Maharana et al., 2024): two people talk in dated sessions, turns "D1:3".

A file is a list of samples, or one of them. Its known defects are mended where their meaning is
plain, and counted in any case.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from amem_integrations.evaluation.dataset import Conversation, Defects, Question, Turn
from amem_integrations.evaluation.fields import Fields

NAME = "locomo"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_APART = "adversarial"
_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_ID = re.compile(r"D:?(\d+):(\d+)")
_TIME = "%I:%M %p on %d %B, %Y"


def is_locomo(sample: object) -> bool:
    return isinstance(sample, dict) and "conversation" in sample and "qa" in sample


def conversations(samples: Iterable[object], defects: Defects) -> Iterator[Conversation]:
    """Raises InvalidInputError for a sample that is none."""
    for place, value in enumerate(samples, 1):
        sample = Fields.of(value, f"sample {place}")
        id = sample.id("sample_id") if "sample_id" in sample.value else str(place)
        spoken = Fields.of(sample.value.get("conversation"), f"sample {id}, conversation")
        turns = defects.said(_turns(spoken, defects))
        asked = [
            _question(Fields.of(each, f"sample {id}, question {number}"), defects)
            for number, each in enumerate(sample.list("qa"), 1)
        ]
        yield Conversation(id, turns, defects.answerable(asked, turns))


def _turns(spoken: Fields, defects: Defects) -> Iterator[Turn]:
    named = [found for key in spoken.value if (found := _SESSION.fullmatch(key))]
    dated = {int(found[1]) for found in named if found[2]}
    held = {int(found[1]) for found in named if not found[2]}
    if lost := len(dated - held):
        defects["dates without a session"] += lost
    for number in sorted(held):
        name = f"session_{number}"
        time = _time(spoken, f"{name}_date_time", defects)
        for place, value in enumerate(spoken.list(name), 1):
            turn = Fields.of(value, f"{spoken.where}, {name}, turn {place}")
            yield Turn(
                turn.id("dia_id"),
                _text(turn),
                turn.optional("speaker"),
                session=str(number),
                time=time,
            )


def _text(turn: Fields) -> str:
    """What was said, and what the picture that was sent with it shows."""
    caption = turn.optional("blip_caption")
    said = turn.optional("text") or ""
    return f"{said} [image: {caption}]".lstrip() if caption else said


def _time(spoken: Fields, name: str, defects: Defects) -> datetime | None:
    """ "1:56 pm on 8 May, 2023", which names no zone, as UTC."""
    text = spoken.optional(name)
    if text is None:
        defects["sessions without a date"] += 1
        return None
    try:
        return datetime.strptime(text.strip(), _TIME).replace(tzinfo=UTC)
    except ValueError:
        raise spoken.wrong(name, 'a time such as "1:56 pm on 8 May, 2023"') from None


def _question(asked: Fields, defects: Defects) -> Question:
    number = asked.value.get("category")
    if number not in CATEGORIES:
        raise asked.wrong("category", "a number from 1 to 5")
    category = CATEGORIES[number]
    evidence = [
        id for text in asked.ids("evidence", required=False) for id in _evidence(text, defects)
    ]
    return Question(
        asked.text("question"),
        tuple(evidence),
        category,
        core=category != _APART,
        answer=asked.said("answer"),
        adversarial_answer=asked.said("adversarial_answer"),
    )


def _evidence(text: str, defects: Defects) -> list[str]:
    """The ids in one: "D8:6; D9:17" is two, "D30:05" is "D30:5", "D:11:26" is "D11:26"."""
    parts = re.split(r"[\s;,]+", text.strip(" \t\n;,"))
    if len(parts) > 1:
        defects["evidence ids joined in one, taken apart"] += 1
    return [_id(part, defects) for part in parts]


def _id(text: str, defects: Defects) -> str:
    found = _ID.fullmatch(text)
    id = f"D{int(found[1])}:{int(found[2])}" if found else text
    if id != text:
        defects["evidence ids misspelt, mended"] += 1
    return id
