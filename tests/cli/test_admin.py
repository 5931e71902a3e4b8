"""The commands of an operator: check, repair, health, usage, export, import, copy, compact."""

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.cli.options import parse_time
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.admin import Admin
from amem_integrations.testing import HashEmbedder
from tests.cli.console import call, printed
from tests.support import chat_model, io_of, open_memory

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
HEADER = '{"format": "amem-notes", "format_version": 1, "namespace": ["shop"], "package": "0"}\n'
END = '{"end": "amem-notes", "notes": 0}\n'


@pytest.fixture
def damage(memory: AgenticMemory, shop: tuple[str, ...]) -> Callable[..., None]:
    def patch(**payload: Any) -> None:
        run(io_of(memory).engine.patch(memory.recent(namespace="shop")[0].id, payload))

    return patch


def test_damage_is_found_and_repaired(home: Path, damage: Callable[..., None]) -> None:
    healthy = call("check", "-l", home)
    assert (healthy.exit_code, healthy.output) == (0, "4 notes: all is well.\n")
    damage(prefixes=[])
    found = call("check", "-l", home)
    assert found.exit_code == 3
    assert "derived: prefixes\n4 notes: 1 finding.\n" in found.stdout
    repaired = call("admin", "repair", "-l", home)
    assert repaired.exit_code == 0, repaired.output
    assert "derived: prefixes, mended\n4 notes: 1 finding, 1 mended, 0 left.\n" in repaired.stdout


def test_what_a_repair_has_to_leave_exits_with_three(
    home: Path, damage: Callable[..., None]
) -> None:
    damage(metadata="{")
    result = call("admin", "repair", "-l", home)
    assert result.exit_code == 3
    assert "unreadable: JSONDecodeError\n" in result.stdout
    assert "1 finding." in result.stdout


# -- health -----------------------------------------------------------------------------------


def test_health_is_four_lines_with_what_to_type(shop: tuple[str, ...]) -> None:
    result = call("health", *shop)
    heading, *lines = result.stdout.splitlines()
    assert heading == "Health of namespace shop"
    assert [line.split()[0] for line in lines if line[0] != " "] == [
        "fine",
        "waiting",
        "wrong",
        "growing",
    ]
    assert "amem lifecycle consolidate merges what it can" in " ".join(result.stdout.split())
    assert max(map(len, result.output.splitlines())) <= 80


def test_health_is_a_table_that_fits_eighty_columns(shop: tuple[str, ...]) -> None:
    result = call("health", *shop, "--all")
    assert result.exit_code == 0, result.output
    assert "Health of namespace shop" in result.stdout
    assert re.search(r"^ +formed +4 notes +understood and linked", result.stdout, re.MULTILINE)
    assert "To worry about: duplicates." in result.stdout
    assert max(map(len, result.output.splitlines())) <= 80
    assert "\x1b" not in result.output


def test_health_as_json_is_nothing_but_the_report(shop: tuple[str, ...]) -> None:
    report = printed("health", *shop)
    assert report["namespace"] == ["shop"]
    values = {row["name"]: row["value"] for row in report["figures"]}
    assert (values["duplicates"], values["consistency"]) == (0.25, None)


@pytest.mark.parametrize(
    ("gate", "failures"),
    [
        (("--fail-under", "duplicates=0.25", "--fail-over", "raw=0"), ""),
        # What could not be measured fails no gate.
        (("--fail-under", "consistency=1"), ""),
        (
            ("--fail-under", "formed=4.5", "--fail-over", "duplicates=0.2"),
            "formed is 4, under 4.5.\nduplicates is 0.25, over 0.2.\n",
        ),
    ],
)
def test_a_gate_says_what_fails_it_and_exits_with_three(
    shop: tuple[str, ...], gate: tuple[str, ...], failures: str
) -> None:
    result = call("health", *shop, "--json", *gate)
    assert (result.exit_code, result.stderr) == (3 if failures else 0, failures)
    assert json.loads(result.stdout)["worries"] == ["duplicates"]


def test_an_unknown_figure_is_named_with_those_there_are(shop: tuple[str, ...]) -> None:
    result = call("health", *shop, "--fail-under", "stabilty=0.8")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No figure is called 'stabilty'; there are notes, " in result.stderr
    assert "stability" in result.stderr


@pytest.mark.parametrize("text", ["", "stability", "stability=", "stability=much", "stability=nan"])
def test_a_bound_is_a_name_and_a_number(home: Path, text: str) -> None:
    result = call("health", "-l", home, "--fail-under", text)
    assert result.exit_code == 1
    assert "--fail-under is a figure and a number, such as stability=0.8" in result.stderr


# -- usage ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two notes formed for Bea, staged, and one for Ada, fused, by a model that counts nothing."""
    directory, usage = tmp_path_factory.mktemp("usage"), {"total_tokens": 0}
    usage |= {"input_tokens": 0, "output_tokens": 0}
    with open_memory(directory, model=chat_model(usage=usage), mode="staged") as memory:
        memory.add_many(["The redis cache", "The redis eviction policy"], namespace="bea")
    with open_memory(directory, model=chat_model()) as memory:
        memory.add("The violin lesson", namespace=("org", "ada"))
    with open_memory(directory):
        yield directory


def test_usage_is_a_table_of_steps_modes_and_the_total(used: Path) -> None:
    result = call("admin", "usage", "-l", used)
    assert result.exit_code == 0, result.output
    names = [line.split("  ")[0] for line in result.output.splitlines()[1:-2]]
    steps = {f"step {name}" for name in ("construct", "link", "evolve", "fuse")}
    assert set(names) == {*steps, "mode staged", "mode fused", "total"}
    assert re.search(r"^step construct +2 ", result.output, re.MULTILINE)
    assert re.search(r"^total +5 ", result.output, re.MULTILINE)
    assert re.search(r"\n[\d,]+ of them are estimates", result.output)
    assert max(map(len, result.output.splitlines())) <= 80
    assert call("admin", "usage", "-l", used, "-n", "nobody").output == "No model calls.\n"


def test_usage_is_narrowed_by_namespace_and_time(used: Path) -> None:
    def calls(*options: str) -> int:
        return printed("admin", "usage", "-l", used, *options)["total"]["calls"]

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert calls("-n", "org", "-n", "ada") == 1
    assert calls("-n", "org") == 0
    assert calls("--since", "1h") == 5
    assert calls("--since", tomorrow) == 0


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("24h", NOW - timedelta(hours=24)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T08:30+02:00", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_date_or_how_long_ago(text: str, moment: datetime) -> None:
    assert parse_time(text, "--since", NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7m", "-7d", "999999w", "2026-13-01"])
def test_any_other_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"--since .*2026-11-01"):
        parse_time(text, "--since", NOW)


# -- export and import ------------------------------------------------------------------------


def test_an_exported_file_makes_the_same_memory_elsewhere(
    shop: tuple[str, ...], tmp_path: Path
) -> None:
    file, there = str(tmp_path / "shop.jsonl"), tmp_path / "there"
    assert call("export", *shop, "-o", file).exit_code == 0
    piped = call("export", *shop)
    assert piped.stderr == "4 notes of namespace shop exported.\n"
    assert piped.stdout == Path(file).read_text("utf-8")
    with open_memory(there):
        result = call("import", file, "-l", there, "--trust")
        assert (result.exit_code, result.stdout) == (0, "Namespace shop: 4 notes added.\n")
        again = call("import", file, "-l", there, "--trust")
        assert again.output == "Namespace shop: 0 notes added; kept as they were: 4.\n"
        assert call("export", "-n", "shop", "-l", there).stdout == piped.stdout
        other = call("import", "-", "-n", "a", "-n", "b", "-l", there, input=piped.stdout)
        assert other.output == "Namespace a/b: 4 notes added.\n"


def test_a_file_that_was_cut_off_is_imported_with_another_exit_code(
    shop: tuple[str, ...], tmp_path: Path
) -> None:
    lines = call("export", *shop).stdout.splitlines(keepends=True)
    with open_memory(tmp_path / "there"):
        for n, (cut, said) in enumerate(
            [
                (lines[:3], "The end of the export is missing, and perhaps notes before it."),
                ([*lines[:3], lines[-1]], "The file has 2 notes fewer than its end says."),
            ]
        ):
            into = ("-", "-n", str(n), "-l", tmp_path / "there")
            result = call("import", *into, input="".join(cut))
            assert result.exit_code == 3
            assert result.stdout == f"Namespace {n}: 2 notes added.\n{said}\n"
        result = call("import", *into, "--json", input="".join(lines))
        assert (result.exit_code, json.loads(result.stdout)["missing"]) == (0, 0)


def test_an_export_that_breaks_off_leaves_the_file_of_the_last_one(
    shop: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(memory: AgenticMemory, namespace: object) -> Iterator[str]:
        yield "half"
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "link.jsonl").symlink_to(tmp_path / "shop.jsonl")
    (tmp_path / "shop.jsonl").write_text("the last one")
    with monkeypatch.context() as patch:
        patch.setattr(Admin, "export", full)
        for name in ("shop.jsonl", "link.jsonl"):
            result = call("export", *shop, "-o", str(tmp_path / name))
            assert result.exit_code == 1
            assert f"{name} cannot be written: No space left" in result.stderr
    assert {file.name for file in tmp_path.glob("*jsonl*")} == {"shop.jsonl", "link.jsonl"}
    assert (tmp_path / "shop.jsonl").read_text() == "the last one"
    assert call("export", *shop, "-o", str(tmp_path / "link.jsonl")).exit_code == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "shop.jsonl").read_text().count("\n") == 6


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes")
def test_an_export_and_a_picture_are_for_the_user_only_and_keep_the_mode_of_an_older_one(
    shop: tuple[str, ...], tmp_path: Path
) -> None:
    for command in (["export", *shop], ["plot", "graph", *shop]):
        for older, mode in ((None, 0o600), (0o600, 0o600), (0o640, 0o640)):
            file = tmp_path / "file.html"
            file.unlink(missing_ok=True)
            if older is not None:
                file.touch()
                file.chmod(older)
            assert call(*command, "-o", file).exit_code == 0
            assert stat.S_IMODE(file.stat().st_mode) == mode
            assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(os.name != "posix", reason="links need a right there")
def test_an_export_follows_no_link_that_somebody_planted(
    shop: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "shop.jsonl.part").symlink_to(tmp_path / "mine")
    assert call("export", *shop, "-o", tmp_path / "shop.jsonl").exit_code == 0
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "shop.jsonl.part").is_symlink()
    assert not (tmp_path / "shop.jsonl").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_an_export_goes_into_a_pipe_as_well(shop: tuple[str, ...], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_text)
        assert call("export", *shop, "-o", str(tmp_path / "pipe")).exit_code == 0
        assert read.result(30).count("\n") == 6


def test_a_broken_line_is_one_line_of_error(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_bytes(HEADER.encode() + b'{"key": "a", "content": "Tea"}\n\xff\n')
    result = call("import", str(file), "-l", home)
    assert result.exit_code == 1
    assert f"amem: {file}: Line 2: note has no 'created_at'" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("import", "missing.jsonl"), ("export", "-o", "no/such/file")])
def test_a_file_that_cannot_be_opened_is_named(home: Path, command: tuple[str, ...]) -> None:
    result = call(*command, "-l", home)
    assert result.exit_code == 1
    assert f"amem: {command[-1]} cannot be opened: No such file" in result.stderr


@pytest.mark.parametrize("lines", [b"", b"\n\n", b"broken\n", b"\xff\n", b'{"format": "other"}\n'])
def test_for_lines_that_are_no_export_no_memory_is_made(tmp_path: Path, lines: bytes) -> None:
    (tmp_path / "lines").write_bytes(lines)
    result = call("import", tmp_path / "lines", "-l", tmp_path / "new")
    assert result.exit_code == 1
    assert "Nothing was imported." in result.stderr
    assert call("import", tmp_path / "missing", "-l", tmp_path / "new").exit_code == 1
    assert not (tmp_path / "new").exists()


def test_with_json_a_new_memory_is_not_mentioned(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text(f"{HEADER}{END}")
    new = ("-l", tmp_path / "new")
    result = call("import", tmp_path / "lines", *new, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    (tmp_path / "lines").write_text(f"{HEADER}broken\n")
    result = call("import", tmp_path / "lines", *new, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["kind"] == "InvalidLineError"


# -- copies -----------------------------------------------------------------------------------


def test_reembed_makes_a_copy_and_leaves_the_old_one(
    shop: tuple[str, ...], home: Path, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "new", embedder=HashEmbedder(96)) as memory:
        done = printed("admin", "reembed", "-l", home, "--to", tmp_path / "new")
        assert done == {"notes": 4, "total": 4, "to": str(tmp_path / "new")}
        again = call("admin", "reembed", "-l", home, "--to", tmp_path / "new")
        assert again.stdout.startswith("0 notes copied to ")
        assert memory.search("redis cache", namespace="shop")
    assert len(printed("recent", *shop)["notes"]) == 4


def test_a_copy_goes_to_another_place(home: Path) -> None:
    result = call("admin", "reembed", "-l", home, "--to", f"{home}/../memory/")
    assert result.exit_code == 1
    assert "--to is another place" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="an open directory cannot be replaced there")
def test_compact_writes_files_anew_unless_the_memory_is_in_use(tmp_path: Path) -> None:
    with open_memory(tmp_path, formation="off") as memory:
        memory.add("The redis cache")
        busy = call("admin", "compact", "-l", tmp_path)
    assert busy.exit_code == 1
    assert "is open in this process" in busy.stderr
    assert set(printed("admin", "compact", "-l", tmp_path)) == {"points", "before", "after"}
    again = call("admin", "compact", "-l", tmp_path).stdout
    assert " MB now. Nothing deleted is left; there was too little of it" in again
    with open_memory(tmp_path) as memory:
        assert memory.count() == 1
    missing = call("admin", "compact", "-l", tmp_path / "none")
    assert "There is no memory at" in missing.stderr
    assert not (tmp_path / "none").exists()
    server = call("admin", "compact", "-l", "http://localhost:6333")
    assert server.exit_code == 1
    assert "by itself" in server.stderr
