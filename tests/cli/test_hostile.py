"""What is stored, imported or called so by others can neither steer a terminal nor break a command.

Of an import, every text is a stranger's; what the package itself writes into such fields is not.
"""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_integrations.cli import options
from tests.cli.console import call, hashed, kept

ODD = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eback\u2066\u200b\ufeff\x85\r\x08\U000e0041"
HOME = f"shop{ODD}"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "resolve_embedder", hashed)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("hostile")
    with kept(directory / "memory") as memory:
        memory.admin.import_(exported())
        memory.add("The office is in Berlin", key="berlin", namespace="facts")
        memory.add("The office is in Hamburg", namespace="facts", supersedes=["berlin"])
        yield directory


def at(second: int) -> str:
    return f"2026-03-01T09:30:0{second}+00:00"


def link(to: str, reason: str = "") -> dict[str, Any]:
    return {"to": to, "reason": reason, "kind": ODD, "weight": 0.9, "created_at": at(3)}


def line(key: str, *links: dict[str, Any], **fields: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("content", "context", "speaker", "session"), f"redis cache {ODD}")
    return {
        **texts,
        "key": key,
        "keywords": [ODD, "redis"],
        "tags": [ODD, "cache"],
        "links": list(links),
        "created_at": at(1),
        "updated_at": at(2),
        "metadata": {ODD: ODD},
        "status": "formed",
        "attempts": 0,
        "last_error": ODD,
        "confidence": 1.0,
        "version": 5,
        "revisions": [],
        **fields,
    }


def revision(version: int, **changes: Any) -> dict[str, Any]:
    return {
        "version": version,
        "kind": f"kind{ODD}",
        "cause": f"first{ODD}",
        "at": at(3),
        "analyst": ODD,
        "changes": changes,
        "sources": [],
        "reason": ODD,
    }


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
    merged = revision(2, merged_into=[None, "second"])
    lines = [
        {"format": "amem-notes", "format_version": 1, "namespace": [HOME], "package": ODD},
        line(first),
        line(
            "second",
            link(first),
            revisions=[revision(2, tier=["short", "long"]), changed],
            contested_by=[first],
            **standing,
        ),
        line("third", link("second", ODD), revisions=[merged], merged_into="second"),
    ]
    return [json.dumps(each) for each in lines]


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
    shown = call(*arguments, "-l", place / "memory", "-n", HOME)
    assert shown.exit_code == 0, shown.exception
    assert shown.stdout.strip()
    assert not unsafe(shown.output)


def test_a_note_whose_place_another_took_shows_until_when_it_held(place: Path) -> None:
    shown = call("show", "berlin", "-l", place / "memory", "-n", "facts")
    assert shown.exit_code == 0, shown.exception
    assert "takes its place\n    valid_until  after  20" in shown.output


def test_a_history_shows_every_field_that_can_change(place: Path) -> None:
    shown = call("show", "second", "-l", place / "memory", "-n", HOME).output
    before, after = shown.split("trust")[1].splitlines()[:2]
    assert (before.split(), after.split()) == (["before", "1.00"], ["after", "0.50"])
    assert "valid_until   after   2026-03-01 09:30 UTC" in shown


def test_names_of_files_among_too_many_arguments_are_shown_as_text(place: Path) -> None:
    refused = call("import", "a.jsonl", f"b{ODD}.jsonl", "-l", place / "memory")
    assert refused.exit_code == 2
    assert "unexpected extra argument" in refused.stderr
    assert not unsafe(refused.output)
