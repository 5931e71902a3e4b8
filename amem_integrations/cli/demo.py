"""`amem demo`: a conversation is remembered, looked at, asked about, closed and reopened.

What it shows is what the memory returns; nothing is prepared beyond the conversation.
"""

import json
import logging
import shlex
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from amem_integrations.cli import terminal
from amem_integrations.core.note import Hit, Note, Revision, Status, note_id
from amem_integrations.core.usage import Usage
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.errors import AMemError, ModelError
from amem_integrations.evaluation.links import Matter
from amem_integrations.memory.client import AgenticMemory

NAMESPACE = ("demo",)
_PLACES = 5
_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the keys of the messages that answer it."""

    text: str
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Remembered:
    """The conversation as notes, with every revision of each.

    seconds: time taken to remember. added: notes that were not there before.
    """

    notes: Mapping[str, Note]
    histories: Mapping[str, Sequence[Revision]]
    seconds: float
    added: int

    @property
    def names(self) -> dict[str, str]:
        return {note.id: terminal.handle(note) for note in self.notes.values()}

    @property
    def links(self) -> int:
        return sum(len(note.outgoing) for note in self.notes.values())

    def evolutions(self) -> Iterator[tuple[Note, Note, Revision]]:
        """Each evolution: the note that caused it, the note that evolved, and its revision."""
        for id, revisions in self.histories.items():
            for revision in revisions:
                if revision.kind == "evolved" and revision.cause in self.notes:
                    yield self.notes[revision.cause], self.notes[id], revision


@dataclass(frozen=True)
class Answer:
    """What a question found, and how many milliseconds that took."""

    hits: list[Hit]
    milliseconds: float


def run(
    console: Console,
    *,
    model: str | None = None,
    embedder: str | None = None,
    keep: Path | None = None,
) -> dict[str, Any]:
    """Run the demonstration in a temporary directory, or in `keep`; returns its numbers.

    Raises AMemError.
    """
    with _directory(keep) as directory, _without_what_it_says(embedder):

        def opened() -> AgenticMemory:
            return AgenticMemory(directory, model=model, embedder=embedder)

        _introduce(console, model, embedder, keep)
        with opened() as memory:
            remembered = _remember(console, memory)
            heading = terminal.sections(console)
            _show_formation(console, heading, remembered)
            answers = _ask(memory)
            _show_answers(console, heading, remembered, answers)
            usage = memory.usage()
        started = time.perf_counter()
        with opened() as memory:
            seconds = time.perf_counter() - started
            again = _ask(memory)
        _show_reopening(console, heading, answers, again, seconds)
        numbers = _numbers(remembered, answers, again)
        _show_numbers(console, heading, numbers)
        if model is not None:
            _show_usage(console, usage.total)
    if keep is not None:
        path = shlex.quote(terminal.plain(str(keep)))
        console.print(f"\nThe memory is in {path}. Ask it yourself:", soft_wrap=True)
        console.print(f'  amem search "Who is allergic?" -n demo -l {path}', soft_wrap=True)
    return numbers | {"location": None if keep is None else str(keep)}


@contextmanager
def _directory(keep: Path | None) -> Generator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="amem-demo-", ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextmanager
def _without_what_it_says(embedder: str | None) -> Generator[None]:
    """Leave out the warning that the default embedder knows no Chinese; `_introduce` says it."""
    log = logging.getLogger(NamedEmbedder.__module__)
    before = log.level
    if embedder is None:
        log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _introduce(
    console: Console, model: str | None, embedder: str | None, keep: Path | None
) -> None:
    who = (
        "No LLM is asked: notes are formed by statistics, without a key or a network."
        if model is None
        else f"Notes are formed by {terminal.plain(model)}."
    )
    where = (
        "The memory is a temporary directory; --keep DIR keeps it."
        if keep is None
        else f"The memory is kept in {terminal.plain(str(keep))}."
    )
    console.print(Text("A-Mem remembers three weeks of a product team", "bold"))
    console.print(
        f"Marta in Berlin, Wei and Jun in Shanghai, in English and Chinese.\n{who}\n{where}"
    )
    if embedder is None:
        console.print(
            "Chinese is found by its words; with --embedder multilingual, by meaning too."
        )
    console.print()


def _remember(console: Console, memory: AgenticMemory) -> Remembered:
    turns = messages()
    ids = [note_id(NAMESPACE, turn["key"]) for turn in turns]
    formed = [note for id in ids if (note := memory.get(id, namespace=NAMESPACE)) is not None]
    added = len(turns) - len(formed)
    started = time.perf_counter()
    failed = 0
    with terminal.stages() as stage:
        advance = stage("Remembering")
        for done, turn in enumerate(turns, start=1):
            note = memory.add(turn.pop("content"), namespace=NAMESPACE, **turn)
            failed = failed + 1 if note.status is not Status.FORMED else 0
            if failed == _FAILURES:
                raise ModelError(
                    f"The last {failed} notes are stored but could not be formed, so the "
                    f"demonstration ends here: {note.last_error}"
                )
            advance(done, len(turns))
    seconds = time.perf_counter() - started
    notes = {id: note for id in ids if (note := memory.get(id, namespace=NAMESPACE)) is not None}
    histories = {id: memory.history(note) for id, note in notes.items()}
    if added < len(turns):
        console.print(f"{len(turns) - added} of {len(turns)} notes were there already, the same.")
    if added:
        console.print(f"{added} messages became notes in {seconds:.1f} s.")
    waiting = sum(note.status is not Status.FORMED for note in notes.values())
    if waiting:
        console.print(f"{waiting} could not be formed; they can be found, and wait to be formed.")
    return Remembered(notes, histories, seconds, added)


def _show_formation(
    console: Console, heading: Callable[[str], None], remembered: Remembered
) -> None:
    notes, names = remembered.notes, remembered.names
    evolution = max(
        remembered.evolutions(),
        key=lambda found: (min(len(found[0].outgoing), 3), len(found[2].changes)),
        default=None,
    )
    note = max(notes.values(), key=lambda note: len(note.outgoing))
    if evolution is not None:
        note = evolution[0]
    heading("A message became a note")
    console.print(_indented(terminal.details(_as_formed(note, remembered.histories[note.id]))))
    heading("It was linked to what it belongs with")
    console.print(terminal.links(note.evolve(links=note.outgoing), notes))
    heading("A neighbour evolved in its light")
    if evolution is None:
        console.print("  No note was changed by a later one.")
        return
    cause, neighbour, revision = evolution
    console.print(
        _indented(Text(f"{names[neighbour.id]}  {terminal.shortened(neighbour.content)}"))
    )
    console.print(
        _indented(Text(f"because of {names[cause.id]}: {terminal.plain(revision.reason)}", "dim"))
    )
    console.print(_indented(terminal.changes(revision, names)))


def _as_formed(note: Note, revisions: Sequence[Revision]) -> Note:
    """The note as it was before later notes changed it."""
    formed = next((revision for revision in revisions if revision.kind == "formed"), None)
    if formed is None:
        return note
    understood = {
        field: change.after if field == "context" else tuple(change.after)
        for field, change in formed.changes.items()
        if field in ("keywords", "tags", "context")
    }
    return note.evolve(**understood)


def _ask(memory: AgenticMemory) -> dict[Question, Answer]:
    answers: dict[Question, Answer] = {}
    for question in questions():
        started = time.perf_counter()
        hits = memory.search(question.text, namespace=NAMESPACE, k=_PLACES)
        answers[question] = Answer(hits, (time.perf_counter() - started) * 1000)
    return answers


def _show_answers(
    console: Console,
    heading: Callable[[str], None],
    remembered: Remembered,
    answers: Mapping[Question, Answer],
) -> None:
    heading(f"It is asked {len(answers)} questions")
    console.print("  ✓ marks what a reader of the conversation would answer with.", style="dim")
    for question, answer in answers.items():
        expected = {note_id(NAMESPACE, key) for key in question.expected}
        console.print()
        console.print(_indented(Text(question.text, "bold")))
        console.print(_indented(terminal.hits(answer.hits, remembered.names, expected=expected)))


def _show_reopening(
    console: Console,
    heading: Callable[[str], None],
    before: Mapping[Question, Answer],
    after: Mapping[Question, Answer],
    seconds: float,
) -> None:
    heading("Closed, opened again and asked again")
    same = sum(_found(before[question]) == _found(after[question]) for question in before)
    console.print(f"  Opened in {seconds:.2f} s.")
    console.print(f"  The same notes in the same order: {same} of {len(before)} questions.")


def _found(answer: Answer) -> list[str]:
    return [hit.note.id for hit in answer.hits]


def _numbers(
    remembered: Remembered, answers: Mapping[Question, Answer], again: Mapping[Question, Answer]
) -> dict[str, Any]:
    """What is shown at the end, and with --json instead of everything."""
    asked = [
        {
            "question": question.text,
            "expected": list(question.expected),
            "found": [hit.note.key for hit in answer.hits],
        }
        for question, answer in answers.items()
    ]
    took = [answer.milliseconds for answer in (*answers.values(), *again.values())]
    return {
        "notes": len(remembered.notes),
        "added": remembered.added,
        "links": remembered.links,
        "evolutions": sum(1 for _ in remembered.evolutions()),
        "seconds": remembered.seconds,
        "searches": len(took),
        "median_milliseconds": statistics.median(took),
        "expected": sum(len(each["expected"]) for each in asked),
        "found": sum(len({*each["expected"]} & {*each["found"]}) for each in asked),
        "questions": asked,
    }


def _show_numbers(
    console: Console, heading: Callable[[str], None], numbers: Mapping[str, Any]
) -> None:
    heading("In numbers")
    seconds, added = numbers["seconds"], numbers["added"]
    each = f", {seconds / added:.2f} s a note" if added else ""
    console.print(
        f"  {numbers['notes']} notes, {numbers['links']} links, "
        f"{numbers['evolutions']} evolutions\n"
        f"  remembering took {seconds:.1f} s{each}\n"
        f"  recall took {numbers['median_milliseconds']:.1f} ms, the median of "
        f"{numbers['searches']} searches\n"
        f"  {numbers['found']} of {numbers['expected']} expected notes were among the first "
        f"{_PLACES}"
    )


def _show_usage(console: Console, usage: Usage) -> None:
    failed = f" ({usage.failures} failed)" if usage.failures else ""
    estimated = f"; {usage.estimated:,} of them estimated" if usage.estimated else ""
    console.print(
        f"  {usage.calls} model calls{failed}, {usage.seconds:.0f} s of waiting for them\n"
        f"  {usage.tokens_in:,} tokens in, {usage.tokens_out:,} out{estimated}"
    )


def _indented(renderable: Any) -> Padding:
    return Padding(renderable, (0, 0, 0, 2), expand=False)


def messages() -> list[dict[str, Any]]:
    """The messages in order, as items for `AgenticMemory.add_many`."""
    lines = _read("product_team.jsonl").splitlines()
    return [_item(json.loads(line)) for line in lines if line.strip()]


def questions() -> list[Question]:
    """The questions that the demonstration asks."""
    return [
        Question(entry["question"], tuple(entry["expected"]))
        for entry in json.loads(_read("product_team_questions.json"))
        if entry["demo"]
    ]


def matters() -> list[Matter]:
    """What the conversation is about, and which of its messages are about it."""
    return [
        Matter(entry["matter"], tuple(entry["turns"]), tuple(entry["also"]))
        for entry in json.loads(_read("product_team_links.json"))
    ]


def _item(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": message["id"],
        "content": message["content"],
        "speaker": message["speaker"],
        "session": message["session"],
        "sequence": message["sequence"],
        "occurred_at": datetime.fromisoformat(message["occurred_at"]),
    }


def data_file(name: str) -> Path:
    """Where the data file of that name is. Raises AMemError if there is none."""
    packaged = Path(str(files("amem_integrations") / "demo_data" / name))
    checkout = Path(__file__).parents[2] / "cookbook" / "data" / name
    for path in (packaged, checkout):
        if path.is_file():
            return path
    raise AMemError(f"{name} is missing from this installation; install the package again.")


def _read(name: str) -> str:
    return data_file(name).read_text("utf-8")
