"""`amem demo`: a conversation is remembered, looked at, asked about, closed and reopened.

What it shows is what the memory returns; nothing is prepared beyond the conversation.
"""

import json
import logging
import shlex
import statistics
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from amem_integrations.cli import display, terminal
from amem_integrations.core.hit import Hit
from amem_integrations.core.note import Note, Revision, Status, note_id
from amem_integrations.core.status import UNDERSTOOD
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question found, and how many milliseconds that took."""

    question: Question
    hits: list[Hit]
    milliseconds: float


def run(
    console: Console,
    *,
    model: str | None = None,
    embedder: str | None = None,
    keep: Path | None = None,
    why: bool = False,
) -> dict[str, Any]:
    """Run the demonstration in a temporary directory, or in `keep`; returns its numbers.

    why: whether what each score is made of is shown. Raises AMemError.
    """
    with _directory(keep) as directory, _without_script_warning(embedder):
        _introduce(console, model, embedder, keep)
        with AgenticMemory(directory, model=model, embedder=embedder) as memory:
            notes, added, seconds = _remember(console, memory)
            histories = {id: memory.history(note) for id, note in notes.items()}
            evolutions = [
                (notes[revision.cause], notes[id], revision)
                for id, revisions in histories.items()
                for revision in revisions
                if revision.kind == "evolved" and revision.cause in notes
            ]
            _show_formation(console, notes, histories, evolutions)
            answers = _ask(memory)
            _show_answers(console, display.names(notes.values()), answers, why)
            usage = memory.usage().total
            _change_fact(console, memory)
        started = time.perf_counter()
        with AgenticMemory(directory, model=model, embedder=embedder) as memory:
            opening = time.perf_counter() - started
            again = _ask(memory)
    same = sum(_found(one) == _found(other) for one, other in zip(answers, again, strict=True))
    _print_heading(console, "6. Closed, opened again and asked again")
    console.print(f"  Opened in {opening:.2f} s.")
    console.print(f"  The same notes in the same order: {same} of {len(answers)} questions.")
    numbers = {
        "notes": len(notes),
        "added": added,
        "links": sum(len(note.outgoing) for note in notes.values()),
        "evolutions": len(evolutions),
        "seconds": seconds,
        **_recall_numbers(answers, again),
        "location": None if keep is None else str(keep),
    }
    _show_numbers(console, numbers, None if model is None else usage)
    if keep is not None:
        path = shlex.quote(terminal.plain(str(keep)))
        console.print(f"\nThe memory is in {path}. Ask it yourself:", soft_wrap=True)
        console.print(f'  amem search "Who is allergic?" -n demo -l {path}', soft_wrap=True)
    return numbers


@contextmanager
def _directory(keep: Path | None) -> Generator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="amem-demo-", ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextmanager
def _without_script_warning(embedder: str | None) -> Generator[None]:
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
    console.print(Text("A-Mem remembers three weeks of a product team", "bold"))
    console.print("Marta in Berlin, Wei and Jun in Shanghai, in English and Chinese.")
    if model is None:
        console.print(
            "No LLM is asked: notes are formed by statistics, without a key or a network."
        )
    else:
        console.print(f"Notes are formed by {terminal.plain(model)}.")
    if keep is None:
        console.print("The memory is a temporary directory; --keep DIR keeps it.")
    else:
        console.print(f"The memory is kept in {terminal.plain(str(keep))}.")
    if embedder is None:
        console.print(
            "Chinese is found by its words; with --embedder multilingual, by meaning too."
        )
    console.print()


def _remember(console: Console, memory: AgenticMemory) -> tuple[dict[str, Note], int, float]:
    """Add the messages; returns their notes, how many are new, and how many seconds it took."""
    turns = messages()
    ids = [note_id(NAMESPACE, turn["key"]) for turn in turns]
    added = len(turns) - len(_load_notes(memory, ids))
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
    notes = _load_notes(memory, ids)
    if added < len(turns):
        console.print(f"{len(turns) - added} of {len(turns)} notes were there already, the same.")
    if added:
        console.print(f"{added} messages became notes in {seconds:.1f} s.")
    waiting = sum(note.status is not Status.FORMED for note in notes.values())
    if waiting:
        console.print(f"{waiting} could not be formed; they can be found, and wait to be formed.")
    return notes, added, seconds


def _load_notes(memory: AgenticMemory, ids: Sequence[str]) -> dict[str, Note]:
    notes = ((id, memory.get(id, namespace=NAMESPACE)) for id in ids)
    return {id: note for id, note in notes if note is not None}


def _show_formation(
    console: Console,
    notes: Mapping[str, Note],
    histories: Mapping[str, Sequence[Revision]],
    evolutions: Sequence[tuple[Note, Note, Revision]],
) -> None:
    """Show the note whose evolution of another shows most, else the best linked one."""
    evolution = max(
        evolutions,
        key=lambda found: (min(len(found[0].outgoing), 3), len(found[2].changes)),
        default=None,
    )
    note = max(notes.values(), key=lambda note: len(note.outgoing))
    if evolution is not None:
        note = evolution[0]
    _print_heading(console, "1. A message became a note")
    _print_indented(console, display.details(_as_formed(note, histories[note.id])))
    _print_heading(console, "2. It was linked to what it belongs with")
    console.print(display.links(note.evolve(links=note.outgoing), notes))
    _print_heading(console, "3. A neighbour evolved in its light")
    if evolution is None:
        console.print("  No note was changed by a later one.")
        return
    cause, neighbour, revision = evolution
    content = terminal.shortened(neighbour.content)
    _print_indented(console, Text(f"{display.handle(neighbour)}  {content}"))
    reason = f"because of {display.handle(cause)}: {terminal.plain(revision.reason)}"
    _print_indented(console, Text(reason, "dim"))
    _print_indented(console, display.changes(revision, display.names(notes.values())))


def _as_formed(note: Note, revisions: Sequence[Revision]) -> Note:
    """The note as it was before later notes changed it."""
    fields: dict[str, Any] = {}
    for revision in revisions:
        if revision.kind == "formed":
            for name in {*UNDERSTOOD} & revision.changes.keys():
                after = revision.changes[name].after
                fields[name] = after if name == "context" else tuple(after)
            break
    return note.evolve(**fields)


def _ask(memory: AgenticMemory) -> list[Answer]:
    answers: list[Answer] = []
    for question in questions():
        started = time.perf_counter()
        hits = memory.search(question.text, namespace=NAMESPACE, k=_PLACES)
        answers.append(Answer(question, hits, (time.perf_counter() - started) * 1000))
    return answers


def _show_answers(
    console: Console, names: display.Names, answers: Sequence[Answer], why: bool
) -> None:
    _print_heading(console, f"4. It is asked {len(answers)} questions")
    console.print("  ✓ marks what a reader of the conversation would answer with.", style="dim")
    for answer in answers:
        expected = {note_id(NAMESPACE, key) for key in answer.question.expected}
        console.print()
        _print_indented(console, Text(answer.question.text, "bold"))
        # Down to the last of them that was found.
        places = [place for place, hit in enumerate(answer.hits, 1) if hit.note.id in expected]
        shown = answer.hits[: max(places, default=_PLACES)]
        _print_indented(console, display.hits(shown, names, expected=expected, why=why))


def _change_fact(console: Console, memory: AgenticMemory) -> None:
    """Correct a fact, ask for it, and undo a mistake."""
    _print_heading(console, "5. A fact changes")
    home, question = (*NAMESPACE, "changes"), "When is the training in Leipzig?"
    said: dict[str, Any] = {"namespace": home, "speaker": "Marta", "session": "changes"}

    def say(text: str, key: str, day: int) -> Note:
        _print_indented(console, Text(f"March {day}, Marta: {text}"))
        return memory.add(text, key=key, occurred_at=datetime(2026, 3, day, 9, tzinfo=UTC), **said)

    def ask(when: str, at: datetime | None = None) -> None:
        hits = memory.search(question, namespace=home, k=2, at=at)
        _print_indented(console, Text(f"{question} {when}".strip(), "bold"))
        _print_indented(console, display.hits(hits, names))

    first = say("The training in Leipzig is on 15 April.", "old", 18)
    changed = say("Sorry, the training in Leipzig is on 16 April.", "new", 20)
    names = display.names([first, changed])
    console.print()
    ask("")
    ask("As of March 19:", datetime(2026, 3, 19, tzinfo=UTC))
    memory.update(changed, "The training in Leipzig is on 61 April.")
    undone = memory.revert(changed)
    _print_indented(
        console, Text(f"Changed to “61 April” by mistake, and undone: {undone.content}")
    )


def _found(answer: Answer) -> list[str]:
    return [hit.note.key for hit in answer.hits]


def _recall_numbers(answers: Sequence[Answer], again: Sequence[Answer]) -> dict[str, Any]:
    took = [answer.milliseconds for answer in (*answers, *again)]
    expected = [(answer, {*answer.question.expected}) for answer in answers]
    return {
        "searches": len(took),
        "median_milliseconds": statistics.median(took),
        "expected": sum(len(keys) for _, keys in expected),
        "found": sum(len(keys & {*_found(answer)}) for answer, keys in expected),
        "questions": [
            {
                "question": answer.question.text,
                "expected": list(answer.question.expected),
                "found": _found(answer),
            }
            for answer in answers
        ],
    }


def _show_numbers(console: Console, numbers: Mapping[str, Any], usage: Usage | None) -> None:
    _print_heading(console, "7. In numbers")
    seconds, added = numbers["seconds"], numbers["added"]
    per_note = f", {seconds / added:.2f} s a note" if added else ""
    console.print(
        f"  {numbers['notes']} notes, {numbers['links']} links, "
        f"{numbers['evolutions']} evolutions\n"
        f"  remembering took {seconds:.1f} s{per_note}\n"
        f"  recall took {numbers['median_milliseconds']:.1f} ms, the median of "
        f"{numbers['searches']} searches\n"
        f"  {numbers['found']} of {numbers['expected']} expected notes were among the first "
        f"{_PLACES}"
    )
    if usage is not None:
        failed = f" ({usage.failures} failed)" if usage.failures else ""
        estimated = f"; {usage.estimated:,} of them estimated" if usage.estimated else ""
        console.print(
            f"  {usage.calls} model calls{failed}, {usage.seconds:.0f} s of waiting for them\n"
            f"  {usage.tokens_in:,} tokens in, {usage.tokens_out:,} out{estimated}"
        )


def _print_heading(console: Console, title: str) -> None:
    console.print("\n", Text(title, "bold cyan"), "\n", sep="")


def _print_indented(console: Console, shown: RenderableType) -> None:
    console.print(Padding(shown, (0, 0, 0, 2), expand=False))


def messages() -> list[dict[str, Any]]:
    """The messages in order, as items for `AgenticMemory.add_many`."""
    lines = data_file("product_team.jsonl").read_text("utf-8").splitlines()
    items: list[dict[str, Any]] = []
    for message in (json.loads(line) for line in lines if line.strip()):
        item = {name: message[name] for name in ("content", "speaker", "session", "sequence")}
        item |= {"key": message["id"]}
        items.append(item | {"occurred_at": datetime.fromisoformat(message["occurred_at"])})
    return items


def questions() -> list[Question]:
    """The questions that the demonstration asks."""
    return [
        Question(entry["question"], tuple(entry["expected"]))
        for entry in json.loads(data_file("product_team_questions.json").read_text("utf-8"))
        if entry["demo"]
    ]


def matters() -> list[Matter]:
    """What the conversation is about, and which of its messages are about it."""
    return [
        Matter(entry["matter"], tuple(entry["turns"]), tuple(entry["also"]))
        for entry in json.loads(data_file("product_team_links.json").read_text("utf-8"))
    ]


def data_file(name: str) -> Path:
    """Where the data file of that name is. Raises AMemError if there is none."""
    packaged = Path(str(files("amem_integrations") / "demo_data" / name))
    checkout = Path(__file__).parents[2] / "cookbook" / "data" / name
    for path in (packaged, checkout):
        if path.is_file():
            return path
    raise AMemError(f"{name} is missing from this installation; install the package again.")
