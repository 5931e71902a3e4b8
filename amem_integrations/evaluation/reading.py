"""Reading a data file, gzip or not: its format is found out, its reader called."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from amem_integrations.errors import InvalidInputError
from amem_integrations.evaluation import beam, json_lines, locomo
from amem_integrations.evaluation.dataset import Conversation, Dataset, Defects

__all__ = ["read_dataset"]

_GZIP = b"\x1f\x8b"


def read_dataset(path: Path, *, limit: int | None = None) -> Dataset:
    r"""The conversations of a LoCoMo, BEAM or JSON-lines file, gzip or not.

    Lines are turns or questions: `{"turn": "t1", "text": …}`, `{"question": …, "evidence":
    ["t1"]}`.

    Args:
        path: of the file.
        limit: only the first so many conversations; defects are theirs alone.

    Raises:
        InvalidInputError: it is none of these; the message names the line or the place.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from amem_integrations.evaluation.reading import read_dataset
        >>> turn = {"turn": "t1", "text": "Calvin wants LRU eviction"}
        >>> question = {"question": "Which eviction?", "evidence": ["t1"]}
        >>> _ = Path("mine.jsonl").write_text(f"{json.dumps(turn)}\n{json.dumps(question)}\n")
        >>> dataset = read_dataset(Path("mine.jsonl"))
        >>> dataset.asked[0][1].text, dataset.defects
        ('Which eviction?', {})
    """
    data = _bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"{path}, line {line}: this is not UTF-8.") from error
    defects = Defects()
    try:
        format, found = _parsed(text, limit, defects)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}, {error}") from error
    _check(path, found, defects)
    return Dataset(format, found, hashlib.sha256(data).hexdigest(), dict(defects))


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInputError(f"{path} is damaged: it cannot be unpacked.") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.") from error


def _parsed(text: str, limit: int | None, defects: Defects) -> tuple[str, tuple[Conversation, ...]]:
    document = _document(text)
    if document is None:
        return json_lines.NAME, tuple(json_lines.conversations(text.split("\n"), defects, limit))
    formats: Iterable[tuple[str, Callable[[object], bool], Callable[..., Iterable[Conversation]]]]
    formats = (
        (locomo.NAME, locomo.is_locomo, locomo.conversations),
        (beam.NAME, beam.is_beam, beam.conversations),
    )
    for name, knows, conversations in formats:
        if document and knows(document[0]):
            return name, tuple(conversations(document[:limit], defects))
    raise InvalidInputError(
        'line 1: a JSON document is a list of LoCoMo samples ("conversation", "qa") or of BEAM '
        'chats ("messages", "questions"); anything else comes as lines of JSON, as the guide '
        "to measuring describes."
    )


def _document(text: str) -> list[Any] | None:
    """The samples of a JSON document; None for a file of lines."""
    start = text.lstrip()
    if not start.startswith(("[", "{")):
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError) as error:
        if start.startswith("{") and start[1:2] not in ("\n", "\r"):
            # The first of several lines is wrong, or the only one.
            return None
        line = text.count("\n", 0, len(text) - len(start) + getattr(error, "pos", 0)) + 1
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise InvalidInputError(f"line {line} is not JSON: {reason}.") from error
    if isinstance(value, list):
        if rest := start[end:].strip():
            raise InvalidInputError(f"after the list there is more: {rest[:40]!r}.")
        return cast("list[Any]", value)
    known = locomo.is_locomo(value) or beam.is_beam(value)
    return [value] if known and not start[end:].strip() else None


def _check(path: Path, found: tuple[Conversation, ...], defects: Defects) -> None:
    ids = [conversation.id for conversation in found]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise InvalidInputError(f"{path} has two conversations called {twice[0]!r}.")
    if not any(conversation.questions for conversation in found):
        wrong = "; ".join(f"{kind}: {count}" for kind, count in defects.items())
        raise InvalidInputError(
            f"{path} has no question that can be scored{f' ({wrong})' if wrong else ''}. Each "
            "question names the ids of the turns that answer it."
        )
