"""`amem import` of what other programs write: notes, dates, speakers, sessions, and once only."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note
from amem_integrations.cli import foreign
from amem_integrations.importers.items import Item
from amem_integrations.importers.kinds import KINDS, detect_kind, read_items
from amem_integrations.memory import turns
from tests.cli.console import call, printed
from tests.importers.files import FILES, LATER, REPLY, SUSIE, write

FIRST = {
    "chatgpt": (("user", "assistant"), datetime(2025, 12, 29, 9, 20, 0, 500000, UTC)),
    "claude": (("user", "assistant"), datetime(2026, 1, 2, 10, 0, tzinfo=UTC)),
    "whatsapp": (("Jonas", "Mara"), datetime(2026, 3, 12, 18, 22, 5, tzinfo=UTC)),
    "telegram": (("Jonas", "Mara"), datetime(2026, 3, 12, 18, 24, 5, tzinfo=UTC)),
    "slack": (("Jonas", "Mara"), datetime(2026, 3, 12, 18, 22, 5, 100, UTC)),
    "messages": (("user", "assistant"), datetime(2026, 3, 12, 17, 22, 5, tzinfo=UTC)),
    "diary": ((None, None), datetime(2026, 3, 12, 18, 22, tzinfo=UTC)),
    "vault": ((None, None), datetime(2026, 3, 12, tzinfo=UTC)),
    "mem0": ((None, None), datetime(2026, 3, 12, 15, 0, tzinfo=UTC)),
    "store": ((None, None), datetime(2026, 3, 12, 8, 0, tzinfo=UTC)),
}
"""The speakers of the first two notes, and when the first was said."""


EVERY = pytest.mark.parametrize("kind", FILES)


def notes_of(memory: AgenticMemory) -> list[Note]:
    return sorted(memory.recent(namespace="me", limit=100), key=lambda note: note.key)


def facts(memory: AgenticMemory) -> list[Any]:
    """What is stored, without the times of storing."""
    return [
        (
            *(note.key, note.content, note.speaker, note.session, note.sequence, note.source),
            *(note.occurred_at, note.metadata_json, str(note.status)),
            sorted((link.source, link.to, link.kind) for link in memory.links(note)),
        )
        for note in notes_of(memory)
    ]


def note_with(memory: AgenticMemory, text: str) -> Note:
    [note] = [note for note in notes_of(memory) if text in note.content.replace("\n", " ")]
    return note


def test_there_is_a_file_of_every_kind() -> None:
    assert FILES.keys() == KINDS.keys()


@EVERY
def test_a_file_becomes_formed_notes_with_its_speakers_and_times_and_only_once(
    kind: str, memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    path = FILES[kind](tmp_path)
    assert detect_kind(path) == kind
    report = printed("import", path, "-l", home, "-n", "me")
    assert (report["kind"], report["namespace"]) == (kind, ["me"])
    assert (report["notes"], report["broken"]) == (3, [])
    notes = notes_of(memory)
    assert {str(note.status) for note in notes} == {"formed"}
    one, two, three = (note_with(memory, text) for text in (SUSIE, REPLY, LATER))
    assert ((one.speaker, two.speaker), one.occurred_at) == FIRST[kind]
    if KINDS[kind].is_chat:
        assert one.session == two.session is not None
        assert (one.sequence, two.sequence) == (0, 1)
        assert three.session is not None
    again = printed("import", path, "-l", home, "-n", "me")
    assert (again["notes"], again["replaced"], again["kept"]) == (0, 0, 3)
    assert notes_of(memory) == notes
    assert memory.admin.check() == []


@EVERY
def test_what_was_interrupted_and_repeated_is_as_if_done_at_once(
    kind: str,
    memory: AgenticMemory,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = FILES[kind](tmp_path)
    call("import", path, "-l", home, "-n", "me")
    whole = facts(memory)
    memory.admin.forget_namespace("me")
    read = foreign.read_items

    def broken_off(path: Path, kind: str) -> Any:
        for count, item in enumerate(i for i in read(path, kind) if isinstance(i, Item)):
            # What a terminal sends comes between two notes or within one.
            if count == 2:
                raise KeyboardInterrupt
            yield item

    run = iter((read, broken_off))
    monkeypatch.setattr(foreign, "read_items", lambda *given: next(run, read)(*given))
    result = call("import", path, "-l", home, "-n", "me")
    assert result.exit_code == 130
    assert "of 3 " in result.stderr
    assert "are stored. The same command goes on from there." in result.stderr
    assert memory.count("me") < 3
    assert call("import", path, "-l", home, "-n", "me").exit_code == 0
    assert facts(memory) == whole


def test_a_note_that_was_being_formed_when_interrupted_is_formed_by_the_next_run(
    memory: AgenticMemory, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FILES["claude"](tmp_path)
    call("import", path, "-l", home, "-n", "me")
    whole = facts(memory)
    memory.admin.forget_namespace("me")

    async def broken_off(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(turns, "have_formed", broken_off)
        result = call("import", path, "-l", home, "-n", "me")
    assert result.exit_code == 130
    assert "Interrupted: what is stored stays." in result.stderr
    assert [str(note.status) for note in notes_of(memory)] == ["raw"]
    report = printed("import", path, "-l", home, "-n", "me")
    assert (report["notes"], report["kept"], report["waiting"]) == (2, 1, 0)
    assert facts(memory) == whole


@pytest.mark.parametrize("kind", ["chatgpt", "whatsapp", "vault"])
def test_an_import_is_trusted_little_unless_it_is_ones_own(
    kind: str, memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    path = FILES[kind](tmp_path)
    call("import", path, "-l", home, "-n", "me")
    assert {note.source for note in notes_of(memory)} <= {"import", "assistant"}
    memory.admin.forget_namespace("me")
    call("import", path, "-l", home, "-n", "me", "--trust")
    assert note_with(memory, SUSIE).source == "user"
    assert note_with(memory, REPLY).source == ("assistant" if kind == "chatgpt" else "user")


def test_links_between_notes_of_a_vault_are_links(
    memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    report = call("import", FILES["vault"](tmp_path), "-l", home, "-n", "me")
    assert report.exit_code == 0, report.output
    notes = {note.key: note for note in notes_of(memory)}
    referred = {
        (key, link.to)
        for key, note in notes.items()
        for link in note.outgoing
        if link.kind == "refers"
    }
    susie, paint, day = (f"vault/{name}.md" for name in ("Susie", "Paint", "Daily/2026-03-13"))
    wanted = {(susie, paint), (paint, susie), (day, susie)}
    assert referred == {(source, notes[to].id) for source, to in wanted}
    assert notes[susie].metadata == {"file": "Susie.md", "tags": ["boat", "kiel", "sail"]}
    assert notes[susie].content.startswith("# Susie\n\nMy sailing boat")
    assert notes[day].occurred_at == datetime(2026, 3, 13, tzinfo=UTC)
    # They are the writer's own, and outlast another reading of the note.
    reverted = memory.revert(notes[susie])
    assert [link.kind for link in reverted.outgoing] == ["refers"]


def test_what_is_edited_here_is_kept_unless_the_file_is_to_win(
    memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    path = FILES["messages"](tmp_path)
    call("import", path, "-l", home, "-n", "me")
    memory.update(note_with(memory, SUSIE), "The boat was sold.")
    call("import", path, "-l", home, "-n", "me")
    assert note_with(memory, "The boat was sold.")
    report = printed("import", path, "-l", home, "-n", "me", "--replace")
    assert report["notes"] == 0
    assert note_with(memory, SUSIE)


def test_small_talk_is_skipped_and_a_correction_is_linked(
    memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    said = [
        "The board meets on Monday at ten.",
        "ok, thanks",
        "Actually it is Tuesday, not Monday.",
    ]
    lines = (json.dumps({"role": "user", "content": text, "timestamp": 1}) for text in said)
    report = printed(
        "import", write(tmp_path / "a.jsonl", "\n".join(lines)), "-l", home, "-n", "me"
    )
    assert (report["items"], report["notes"], report["skipped"]) == (3, 2, 1)
    correction = note_with(memory, "Tuesday")
    assert "corrects" in [link.kind for link in correction.outgoing]


def test_replies_can_be_left_out_and_everything_can_be_kept(
    memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    path = FILES["claude"](tmp_path)
    users = printed("import", path, "-l", home, "-n", "me", "--remember", "user")
    assert (users["notes"], users["skipped"]) == (2, 1)
    call("import", path, "-l", home, "-n", "other", "--remember", "all")
    assert memory.count("other") == 3


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        (("12/03/2026, 18:22 - Jo: Hi there", "13/03/2026, 08:00 - Jo: Bye"), "2026-03-12 18:22"),
        (("3/12/26, 6:22 PM - Jo: Hi there", "3/13/26, 8:00 AM - Jo: Bye"), "2026-03-12 18:22"),
        (("1/3/26, 18:22 - Jo: Hi there", "2/3/26, 8:00 - Jo: Bye"), "2026-03-01 18:22"),
        (("3/1/26, 18:22 - Jo: Hi there", "3/2/26, 8:00 - Jo: Bye"), "2026-01-03 18:22"),
        (
            ("11/9/26, 12:05\u202fAM - Jo: Hi there", "12/1/26, 8:00\u202fAM - Jo: Bye"),
            "2026-11-09 00:05",
        ),
        (("12.03.26, 18:22 - Jo: Hi there",), "2026-03-12 18:22"),
        (("[2026-03-12, 18:22:09] Jo: Hi there",), "2026-03-12 18:22"),
        (("[12.03.26, 18:22:09] Jo: Hi there",), "2026-03-12 18:22"),
    ],
)
def test_whatsapp_writes_dates_in_many_ways(
    lines: tuple[str, ...], first: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "WhatsApp Chat with Jo.txt", "\n".join(lines))
    item = next(read_items(path))
    assert isinstance(item, Item)
    assert (item.content, item.speaker) == ("Hi there", "Jo")
    assert f"{item.occurred_at:%Y-%m-%d %H:%M}" == first
    assert item.session == f"whatsapp/Jo/{first[:10]}"


def test_where_nothing_says_which_namespace_the_environment_does(
    memory: AgenticMemory, home: Path, tmp_path: Path
) -> None:
    path = FILES["mem0"](tmp_path)
    result = call("import", path, "-l", home, AMEM_NAMESPACE="org ada")
    assert result.stdout.startswith("Namespace org/ada: 3 notes added from 3 notes of memories")
    call("import", path, "-l", home)
    assert memory.count("default") == memory.count(("org", "ada")) == 3


def test_help_names_every_kind() -> None:
    shown = " ".join(call("import", "--help").output.split())
    assert all(name in shown for name in KINDS)
