"""The files that evaluations read: LoCoMo, BEAM, and lines of JSON, gzip or not."""

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError

from amem_integrations.core.note import as_utc
from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn

__all__ = ["read_dataset"]

_GZIP = b"\x1f\x8b"


def read_dataset(path: Path, *, limit: int | None = None) -> Dataset:
    r"""Read a LoCoMo, BEAM or JSON-lines file, gzip or not.

    Lines are turns or questions: `{"turn": "t1", "text": …}`, `{"question": …, "evidence":
    ["t1"]}`.

    Args:
        path: the file.
        limit: only the first so many conversations; defects are theirs alone.

    Raises:
        InvalidInputError: it has none of these formats; the message names the line or the place.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from amem_integrations.evaluation.formats import read_dataset
        >>> turn = {"turn": "t1", "text": "Calvin wants LRU eviction"}
        >>> question = {"question": "Which eviction?", "evidence": ["t1"]}
        >>> _ = Path("mine.jsonl").write_text(f"{json.dumps(turn)}\n{json.dumps(question)}\n")
        >>> dataset = read_dataset(Path("mine.jsonl"))
        >>> dataset.asked[0][1].text, dataset.defects
        ('Which eviction?', {})
    """
    data = b""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
        text = data.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"{path} is damaged: it cannot be unpacked.") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"{path}, line {line}: this is not UTF-8.") from error
    defects = Defects()
    try:
        format, conversations = _parse(text, limit, defects)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}, {error}") from error
    ids = Counter(conversation.id for conversation in conversations)
    if twice := [id for id, count in ids.items() if count > 1]:
        raise InvalidInputError(f"{path} has two conversations called {twice[0]!r}.")
    if not any(conversation.questions for conversation in conversations):
        wrong = "; ".join(f"{kind}: {count}" for kind, count in defects.items())
        raise InvalidInputError(
            f"{path} has no question that can be scored{f' ({wrong})' if wrong else ''}. Each "
            "question names the ids of the turns that answer it."
        )
    return Dataset(format, conversations, hashlib.sha256(data).hexdigest(), dict(defects))


class Defects(Counter[str]):
    """What is wrong with a file, counted by kind, so that nothing is left out in silence."""

    def conversation(
        self, id: str, turns: Iterable[Turn], questions: Iterable[Question]
    ) -> Conversation:
        """Return a conversation of the turns with text, each id once, and the scorable questions.

        A question can be scored if some of its evidence is there.
        """
        kept: dict[str, Turn] = {}
        for turn in turns:
            if not turn.text.strip():
                self["turns without text, left out"] += 1
            elif turn.id in kept:
                self["turns with the id of an earlier one, left out"] += 1
            else:
                kept[turn.id] = turn
        return Conversation(id, tuple(kept.values()), tuple(self._scorable(questions, kept)))

    def _scorable(self, questions: Iterable[Question], ids: Collection[str]) -> Iterator[Question]:
        for question in questions:
            found = tuple(dict.fromkeys(id for id in question.evidence if id in ids))
            if missing := len(set(question.evidence)) - len(found):
                self["evidence ids of no turn, left out"] += missing
            if found:
                yield replace(question, evidence=found)
            elif question.evidence:
                self["questions whose evidence is not there, left out"] += 1
            else:
                self["questions without evidence, left out"] += 1


def _parse(text: str, limit: int | None, defects: Defects) -> tuple[str, tuple[Conversation, ...]]:
    document = _document(text)
    if document is None:
        return "json-lines", tuple(read_lines(text.split("\n"), defects, limit))
    if document and _has(document[0], "conversation", "qa"):
        return "locomo", tuple(read_locomo(document[:limit], defects))
    if document and _has(document[0], "messages", "questions"):
        return "beam", tuple(read_beam(document[:limit], defects))
    raise InvalidInputError(
        'line 1: a JSON document is a list of LoCoMo samples ("conversation", "qa") or of BEAM '
        'chats ("messages", "questions"); anything else comes as lines of JSON, as the guide '
        "to measuring describes."
    )


def _document(text: str) -> list[Any] | None:
    """Return the samples of a JSON document; None for a file of lines."""
    start = text.lstrip()[:1]
    if start not in ("[", "{"):
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        if start == "{":
            # One of several lines, each of which is read by itself.
            return None
        raise InvalidInputError(
            f"line {getattr(error, 'lineno', 1)} is not JSON: {_reason(error)}."
        ) from error
    if isinstance(value, list):
        return cast("list[Any]", value)
    known = _has(value, "conversation", "qa") or _has(value, "messages", "questions")
    return [value] if known else None


def _has(value: object, *names: str) -> bool:
    return isinstance(value, dict) and all(name in value for name in names)


def _reason(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"


def _moment(value: object) -> datetime | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError("an ISO 8601 date or time is a string")
    return as_utc(datetime.fromisoformat(value))


def _by_format(format: str) -> BeforeValidator:
    """Parse a date in UTC: the formats name no zone."""

    def parse(value: object) -> datetime | None:
        if value is None or value == "":
            return None
        return datetime.strptime(str(value).strip(), format).replace(tzinfo=UTC)

    return BeforeValidator(parse)


_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
_Id = Annotated[str, Field(min_length=1)]
_Text = Annotated[str | None, BeforeValidator(lambda value: None if value == "" else value)]
_Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class _Entry(BaseModel):
    """A piece of a foreign file. Numbers may stand for texts."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


_E = TypeVar("_E", bound=_Entry)


def _read(kind: type[_E], value: object, where: str) -> _E:
    """Return `value` as an entry. Raises InvalidInputError that says where it is wrong."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        got = repr(first["input"])
        got = got if len(got) <= 60 else f"a {type(first['input']).__name__}"
        where = f'{where}, "{place}"' if place else where
        raise InvalidInputError(f"{where}: {first['msg']}; got {got}.") from error


class _Line(_Entry):
    model_config = ConfigDict(extra="forbid")

    conversation: _Id = "conversation"

    @property
    def fields(self) -> dict[str, Any]:
        """What a `Turn` or `Question` is made of."""
        return self.model_dump(exclude={"conversation"})


class _TurnLine(_Line):
    id: _Id = Field(alias="turn")
    text: str
    speaker: _Text = None
    role: _Text = None
    session: _Text = None
    time: _Moment = None


class _QuestionLine(_Line):
    text: str = Field(alias="question")
    evidence: tuple[_Id, ...]
    category: Annotated[str, BeforeValidator(lambda value: value or "all")] = "all"
    asked_at: _Moment = None
    core: StrictBool = True
    answer: _Text = None
    adversarial_answer: _Text = None


def read_lines(
    lines: Iterable[str], defects: Defects, limit: int | None = None
) -> Iterator[Conversation]:
    """Read lines of JSON, as "Measuring" describes them.

    Conversations come in the order in which the file first names them, at most `limit`.
    Raises InvalidInputError with the number of a line that is neither turn nor question.
    """
    turns: dict[str, list[Turn]] = {}
    questions: dict[str, list[Question]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{where} is not JSON: {_reason(error)}.") from error
        if isinstance(value, dict) and "question" in cast("dict[str, Any]", value):
            asked = _read(_QuestionLine, cast("object", value), where)
            turns.setdefault(asked.conversation, [])
            questions.setdefault(asked.conversation, []).append(Question(**asked.fields))
        else:
            turn = _read(_TurnLine, cast("object", value), where)
            turns.setdefault(turn.conversation, []).append(Turn(**turn.fields))
    for id in list(turns)[:limit]:
        yield defects.conversation(id, turns[id], questions.get(id, ()))


_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)(_date_time)?")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class _LocomoTurn(_Entry):
    dia_id: _Id
    text: str | None = None
    speaker: _Text = None
    blip_caption: _Text = None


class _LocomoSession(_Entry):
    turns: list[_LocomoTurn]
    date_time: Annotated[datetime | None, _by_format(_LOCOMO_TIME)] = None


class _LocomoQuestion(_Entry):
    question: str
    category: Literal[1, 2, 3, 4, 5]
    evidence: list[_Id] | None = None
    answer: _Text = None
    adversarial_answer: _Text = None


class _LocomoSample(_Entry):
    sample_id: _Id | None = None
    conversation: dict[str, Any]
    qa: list[_LocomoQuestion]


def read_locomo(samples: Iterable[object], defects: Defects) -> Iterator[Conversation]:
    """Read LoCoMo's samples (Maharana et al., 2024): two people talk in dated sessions.

    Known defects are mended where their meaning is plain, and counted in any case.
    Raises InvalidInputError for a sample in another format.
    """
    for place, value in enumerate(samples, 1):
        sample = _read(_LocomoSample, value, f"sample {place}")
        id = sample.sample_id or str(place)
        turns = list(_locomo_turns(sample.conversation, f"sample {id}", defects))
        questions = [
            Question(
                asked.question,
                tuple(id for text in asked.evidence or () for id in _mend(text, defects)),
                _CATEGORIES[asked.category],
                core=asked.category != 5,
                answer=asked.answer,
                adversarial_answer=asked.adversarial_answer,
            )
            for asked in sample.qa
        ]
        yield defects.conversation(id, turns, questions)


def _locomo_turns(talk: Mapping[str, Any], where: str, defects: Defects) -> Iterator[Turn]:
    keys = [found for key in talk if (found := _SESSION.fullmatch(key))]
    numbers = {int(key[1]) for key in keys if not key[2]}
    if lost := len({int(key[1]) for key in keys} - numbers):
        defects["dates without a session"] += lost
    for number in sorted(numbers):
        name = f"session_{number}"
        fields = {"turns": talk[name], "date_time": talk.get(f"{name}_date_time")}
        session = _read(_LocomoSession, fields, f"{where}, {name}")
        if session.date_time is None:
            defects["sessions without a date"] += 1
        for turn in session.turns:
            text = turn.text or ""
            if turn.blip_caption:
                text = f"{text} [image: {turn.blip_caption}]".lstrip()
            yield Turn(turn.dia_id, text, turn.speaker, None, str(number), session.date_time)


def _mend(text: str, defects: Defects) -> Iterator[str]:
    """Yield the ids in one: "D8:6; D9:17" is two, "D30:05" is "D30:5", "D:11:26" is "D11:26"."""
    parts = re.split(r"[\s;,]+", text.strip(" \t\n;,"))
    if len(parts) > 1:
        defects["evidence ids joined in one, taken apart"] += 1
    for part in parts:
        found = _EVIDENCE.fullmatch(part)
        id = f"D{int(found[1])}:{int(found[2])}" if found else part
        if id != part:
            defects["evidence ids misspelt, mended"] += 1
        yield id


class _BeamMessage(_Entry):
    id: _Id
    role: str
    content: str
    time_anchor: Annotated[datetime | None, _by_format("%B-%d-%Y")] = None


class _BeamQuestion(_Entry):
    category: str
    question: str
    gold: list[_Id]
    answer: _Text = None


class _BeamChat(_Entry):
    id: _Id
    messages: list[_BeamMessage]
    questions: list[_BeamQuestion]


def read_beam(chats: Iterable[object], defects: Defects) -> Iterator[Conversation]:
    """Read BEAM's chats (Tavakoli et al., 2025) as plain JSON.

    A user's message with a time anchor begins a session.
    Raises InvalidInputError for a chat in another format.
    """
    for place, value in enumerate(chats, 1):
        chat = _read(_BeamChat, value, f"chat {place}")
        turns: list[Turn] = []
        session, time = 0, None
        for message in chat.messages:
            if message.time_anchor is not None and message.role == "user":
                session, time = session + 1, message.time_anchor
            turns.append(Turn(message.id, message.content, None, message.role, str(session), time))
        questions = [
            Question(
                asked.question,
                tuple(asked.gold),
                asked.category,
                # These ask to follow an instruction or an order, and not for a message.
                core=asked.category not in ("instruction_following", "event_ordering"),
                answer=asked.answer,
            )
            for asked in chat.questions
        ]
        yield defects.conversation(chat.id, turns, questions)
