"""What is printed: safe on a terminal whatever is stored, and progress on standard error only.

Of an import, every text is a stranger's; what the package itself writes into such fields is not.
"""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli import terminal
from tests.cli.console import call, printed

ODD = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eback\u2066\u200b\ufeff\x85\r\x08\U000e0041"
HOME = f"shop{ODD}"
TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}


@pytest.fixture(scope="module")
def place(opened: AgenticMemory) -> Path:
    opened.admin.import_(exported())
    opened.add("The office is in Berlin", key="berlin", namespace="facts")
    opened.add("The office is in Hamburg", namespace="facts", supersedes=["berlin"])
    return Path(str(opened.options.location))


def at(second: int) -> str:
    return f"2026-03-01T09:30:0{second}+00:00"


def link(to: str, reason: str = "") -> dict[str, Any]:
    return {"to": to, "reason": reason, "kind": ODD, "weight": 0.9, "created_at": at(3)}


def line(key: str, *links: dict[str, Any], **fields: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("content", "context", "speaker", "session"), f"redis cache {ODD}")
    terms = {"keywords": [ODD, "redis"], "tags": [ODD, "cache"], "metadata": {ODD: ODD}}
    state = {"status": "formed", "attempts": 0, "last_error": ODD, "confidence": 1.0, "version": 5}
    times = {"created_at": at(1), "updated_at": at(2)}
    return {
        **texts,
        **terms,
        **state,
        **times,
        "key": key,
        "links": links,
        "revisions": [],
    } | fields


def revision(version: int, **changes: Any) -> dict[str, Any]:
    texts = {"kind": f"kind{ODD}", "cause": f"first{ODD}", "analyst": ODD, "reason": ODD}
    return {**texts, "version": version, "at": at(3), "changes": changes, "sources": []}


def exported() -> list[str]:
    first = f"first{ODD}"
    standing: dict[str, Any] = {"tier": "long", "trust": 0.5, "valid_until": at(4)}
    changed = revision(
        3,
        trust=[1.0, 0.5],
        valid_until=[None, at(4)],
        contested_by=[[], [first]],
        links=[[], [link(first)]],
        keywords=[["old"], [ODD, "redis"]],
    )
    second = [revision(2, tier=["short", "long"]), changed]
    merged = [revision(2, merged_into=[None, "second"])]
    lines = [
        {"format": "amem-notes", "format_version": 1, "namespace": [HOME], "package": ODD},
        line(first),
        line("second", link(first), revisions=second, contested_by=[first], **standing),
        line("third", link("second", ODD), revisions=merged, merged_into="second"),
    ]
    return list(map(json.dumps, lines))


def unsafe(text: str) -> set[str]:
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {each for each in text if each != "\n" and unicodedata.category(each) in kinds}


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "second"),
        ("show", f"first{ODD}"),
        ("search", "redis", "--hops", "2"),
        ("recent",),
        ("health",),
        *(("lifecycle", name) for name in ("consolidate", "audits", "proposals")),
    ],
    ids=lambda arguments: arguments[-1],
)
def test_what_was_imported_cannot_steer_the_terminal(
    arguments: tuple[str, ...], place: Path
) -> None:
    shown = call(*arguments, "-l", place, "-n", HOME)
    assert shown.exit_code == 0, shown.exception
    assert shown.stdout.strip()
    assert not unsafe(shown.output)


def test_markup_is_text_and_words_stay(place: Path) -> None:
    text = "\x1b[31mred\x1b]0;title\x07 [bold]loud[/bold] \u202ebackwards \x9b2J \x1b[2J\rback"
    shown = call("add", text, "-l", place, "-n", "loud").output
    assert "red [bold]loud[/bold] backwards" in shown
    assert not unsafe(shown)


@pytest.mark.parametrize("text", ["e\u0301té", "👩\u200d🔧", "素菜馆", "שלום", "नमस्ते"])
def test_letters_of_any_script_are_shown_as_they_are(text: str) -> None:
    assert terminal.plain(text) == text


def test_the_end_of_a_very_long_text_is_left_out() -> None:
    assert terminal.shortened("word " * 400_000) == ("word " * 80)[:399] + "…"


def test_a_history_shows_every_field_that_can_change(place: Path) -> None:
    shown = call("show", "second", "-l", place, "-n", HOME).output
    before, after = shown.split("trust")[1].splitlines()[:2]
    assert (before.split(), after.split()) == (["before", "1.00"], ["after", "0.50"])
    assert "valid_until   after   2026-03-01 09:30 UTC" in shown
    superseded = call("show", "berlin", "-l", place, "-n", "facts")
    assert "takes its place\n    valid_until  after  20" in superseded.output


def test_names_of_files_among_too_many_arguments_are_shown_as_text(place: Path) -> None:
    refused = call("import", "a.jsonl", f"b{ODD}.jsonl", "-l", place)
    assert refused.exit_code == 2
    assert "unexpected extra argument" in refused.stderr
    assert not unsafe(refused.output)


def test_an_export_is_safe_on_a_terminal_and_unchanged_in_a_pipe(place: Path) -> None:
    piped = call("export", "-l", place, "-n", HOME).stdout
    assert "\u202e" in piped
    shown = call("export", "-l", place, "-n", HOME, FORCE_COLOR="1").stdout
    assert shown.isascii()
    # Not splitlines(), which splits at characters that stand in the texts.
    lines = zip(shown.split("\n"), piped.split("\n"), strict=True)
    assert all(one == other or json.loads(one) == json.loads(other) for one, other in lines)


@pytest.mark.parametrize(
    ("arguments", "doing"),
    [
        (("check",), "Checking"),
        (("health", "-n", "facts"), "Reading every note"),
        (("admin", "retry"), "Forming what waits"),
        (("lifecycle", "consolidate", "-n", "facts"), "Looking for what to consolidate"),
        (("export", "-n", "facts", "-o", "{tmp}/facts.jsonl"), "Exporting"),
        (("import", "{tmp}/facts.jsonl"), "Importing"),
    ],
    ids=str,
)
def test_a_terminal_is_told_what_is_being_done_and_a_pipe_is_not(
    place: Path, arguments: tuple[str, ...], doing: str
) -> None:
    given = [each.replace("{tmp}", str(place.parent)) for each in arguments]
    on_terminal = call(*given, "-l", place, **TERMINAL)
    assert on_terminal.exit_code == 0
    assert doing in on_terminal.stderr
    assert doing not in on_terminal.stdout
    piped = call(*given, "-l", place)
    assert doing not in piped.output
    assert "\x1b" not in piped.output


def test_json_and_no_color_are_heeded_on_a_terminal(place: Path) -> None:
    assert printed("check", "-l", place, **TERMINAL)["findings"] == []
    asked = ("show", "nothing", "-l", place)
    assert "\x1b[1;31m" in call(*asked, **TERMINAL).stderr
    assert "\x1b[1;31m" not in call(*asked, **TERMINAL, NO_COLOR="1").stderr
