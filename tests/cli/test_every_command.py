"""What holds for every command: help with an example, JSON, exit codes, errors without a trace."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from amem_integrations import __version__, plots
from amem_integrations.cli import options
from amem_integrations.cli.app import app
from amem_integrations.errors import StoreLockedError
from amem_integrations.testing import HashEmbedder
from tests.cli.console import APP, call, commands, examples, fill, found, kept
from tests.support import open_memory

GUIDE = Path(__file__).parents[2] / "cookbook" / "docs" / "guides" / "command_line.md"
EVERY = sorted(commands())
SERVING = ("mcp", "view")
NOT_MEASURING = [path for path in EVERY if path[0] not in ("eval", *SERVING)]

# Once each, in this order, on one memory; those of `eval` have tests of their own.
CASES: dict[str, tuple[str, ...]] = {
    "add": ("The violin needs new strings", "--key", "strings"),
    "search": ("redis cache",),
    "show": ("cache", "size"),
    "recent": (),
    "edit": ("violin", "The violin lesson moves to Friday"),
    "admin namespaces": (),
    "admin usage": (),
    "health": (),
    "check": (),
    "admin repair": (),
    "admin retry": (),
    "lifecycle consolidate": (),
    "lifecycle audits": (),
    "lifecycle proposals": (),
    "revert": ("strings",),
    "lifecycle archive": ("cache", "--reason", "old"),
    "lifecycle restore": ("cache",),
    "forget": ("strings", "--yes"),
    "export": ("-o", "{tmp}/shop.jsonl"),
    "import": ("{tmp}/shop.jsonl",),
    "admin copy": ("--to", "{tmp}/copy"),
    "admin reembed": ("--to", "{tmp}/other"),
    "work": ("--once",),
    "plot graph": ("-o", "{tmp}/graph.html"),
    "plot map": ("-o", "{tmp}/map.html"),
    "plot activity": ("-o", "{tmp}/activity.html"),
    "plot trajectory": ("cache", "-o", "{tmp}/trajectory.html"),
}
WITHOUT_NAMESPACE = ("check", "work", "import")
# What these settle has to be made first (test_lifecycle.py), or nobody may have the memory open.
SETTLING = {"lifecycle accept", "lifecycle reject", "lifecycle resolve", "admin compact"}


@pytest.fixture(scope="module")
def tmp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("every")
    other = open_memory(directory / "other", embedder=HashEmbedder(96))
    with kept(directory / "memory") as memory, other:
        fill(memory)
        yield directory


class Drawn:
    """A picture that took no time; those that do are drawn in test_plots.py."""

    title = "Notes of shop"
    remarks = ("1 of 2 notes are shown.",)

    def write_html(self, out: Path) -> None:
        out.write_text("<html>")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("note_graph", "embedding_map", "activity_heatmap", "trajectory"):
        monkeypatch.setattr(plots, name, lambda *_, **__: Drawn())


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_fits_eighty_columns_and_ends_with_an_example(path: tuple[str, ...]) -> None:
    shown = call(*path, "--help")
    assert shown.exit_code == 0
    assert call(*path, "-h").output == shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    assert f"\n    amem {' '.join(path)}" in shown.output.partition("Example")[2]


@pytest.mark.parametrize("path", [(), *EVERY], ids=" ".join)
def test_an_example_is_a_call_that_the_command_takes(path: tuple[str, ...]) -> None:
    for arguments in examples(found(path).epilog):
        command, rest = APP, arguments
        while hasattr(command, "commands"):
            command, rest = command.commands[rest[0]], rest[1:]
        command.make_context(command.name, list(rest))


def test_the_list_of_commands_cuts_nothing_off() -> None:
    for group in ((), ("eval",), ("admin",), ("lifecycle",), ("plot",)):
        listed = call(*group, "--help").output.partition("Commands:")[2].partition("Example")[0]
        assert listed.strip()
        assert "..." not in listed


@pytest.mark.parametrize("path", [path for path in EVERY if path[0] not in SERVING], ids=" ".join)
def test_every_command_but_those_that_serve_takes_json(path: tuple[str, ...]) -> None:
    assert "--json" in {name for each in found(path).params for name in each.opts}


def documented() -> dict[str, list[str]]:
    """The keys of each command's object, as the guide has them."""
    text = GUIDE.read_text("utf-8").partition("| command | keys |")[2].partition("\n\n")[0]
    rows = [line.split("|") for line in text.splitlines()[2:]]
    return {
        # After a colon or semicolon comes what is in them.
        command: re.findall("`(.+?)`", re.split("[;:]", row[2])[0])
        for row in rows
        for command in re.findall("`(.+?)`", row[1])
    }


KEYS = documented()


def test_the_guide_says_what_every_command_prints_as_json() -> None:
    names = {" ".join(path) for path in NOT_MEASURING}
    assert KEYS.keys() == {*CASES, *SETTLING, "demo"} == names


@pytest.mark.parametrize("name", CASES)
def test_json_is_one_object_of_ascii_as_documented_and_nothing_else(name: str, tmp: Path) -> None:
    result = in_memory(name, tmp, "--json")
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout)) == KEYS[name]
    assert result.stdout.isascii()


def test_the_guide_has_the_keys_of_notes_links_revisions_and_hits(tmp: Path) -> None:
    prose = GUIDE.read_text("utf-8").partition("A *note* has")[2].partition("\n\n")[0]
    said = set(re.findall("`(.+?)`", prose))
    shop = ("-l", str(tmp / "memory"), "-n", "shop", "--json")
    [note] = json.loads(call("show", "cache", *shop).stdout)["notes"]
    [hit] = json.loads(call("search", "redis", *shop, "-k", "1").stdout)["hits"]
    revisions = note.pop("revisions")
    keys = {*note, *note["links"][0], *revisions[0], *hit, "before", "after"}
    assert said == keys


def in_memory(name: str, tmp: Path, *more: str) -> Any:
    arguments = [each.replace("{tmp}", str(tmp)) for each in CASES[name]]
    home = () if name in WITHOUT_NAMESPACE or name.startswith("admin") else ("-n", "shop")
    return call(*name.split(), *arguments, "-l", tmp / "memory", *home, *more)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("add", "import", "work")])
def test_where_there_is_no_memory_none_is_made_and_the_error_is_json(
    name: str, tmp_path: Path, tmp: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for location in ("typo", "empty"):
        arguments = [each.replace("{tmp}", str(tmp)) for each in CASES[name]]
        result = call(*name.split(), *arguments, "-l", tmp_path / location, "--json")
        assert result.exit_code == 1
        assert result.stdout == ""
        error = json.loads(result.stderr)["error"]
        assert error["kind"] == "InvalidInputError"
        assert "There is no memory at" in error["message"]
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 0),
        (("eval",), 0),
        (("--version",), 0),
        (("search", "redis", "-l", "{memory}"), 0),
        (("show", "nothing", "-l", "{memory}"), 1),
        (("show", "not text: \udc9b", "-l", "{memory}"), 1),
        (("search", "redis", "-l", "{memory}", "--filter", "[" * 100_000), 1),
        (("recent", "-l", "ftp://somewhere"), 1),
        (("add", "-l", "{memory}", "--at", "soon", "x"), 1),
        (("bogus",), 2),
        (("search",), 2),
        (("search", "redis", "-l", "{memory}", "--bogus"), 2),
        (("search", "redis", "-l", "{memory}", "-k", "many"), 2),
        (("health", "-l", "{memory}", "-n", "shop", "--fail-over", "notes=1"), 3),
    ],
    ids=lambda value: str(value)[:60].encode("ascii", "replace").decode(),
)
def test_exit_codes(arguments: tuple[str, ...], code: int, tmp: Path) -> None:
    result = call(*(each.replace("{memory}", str(tmp / "memory")) for each in arguments))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert bool(result.stderr) == (code != 0)


@pytest.mark.parametrize(
    "arguments", [("bogus",), ("search",), ("recent", "-l", "x", "--limit", "0")], ids=str
)
def test_a_command_line_that_means_nothing_is_an_error_in_json(arguments: tuple[str, ...]) -> None:
    result = call(*arguments, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stderr)["error"]["kind"] == "UsageError"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreLockedError("It is open in another process."), "amem: It is open in another"),
        (ModuleNotFoundError("No module named 'x'", name="x"), "needs the package x"),
        (OSError(28, "No space left on device", "/dev/full"), "/dev/full: No space left"),
    ],
)
def test_what_the_machine_lacks_is_one_line(
    error: Exception, said: str, tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(options, "AgenticMemory", failing)
    result = call("recent", "-l", tmp / "memory")
    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_shells_can_be_taught_to_complete() -> None:
    env = {"_AMEM_COMPLETE": "complete_bash", "COMP_WORDS": "amem admin na", "COMP_CWORD": "2"}
    assert CliRunner(env=env).invoke(app, [], prog_name="amem").output.split() == ["namespaces"]


def test_the_package_can_be_run_as_a_module_and_names_its_version() -> None:
    command = [sys.executable, "-m", "amem_integrations", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True).stdout
    assert shown == call("--version").output == f"amem {__version__}\n"


def test_without_its_packages_the_command_says_how_to_install_them() -> None:
    program = (
        "import sys; sys.modules['typer'] = None; from amem_integrations.cli import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 2
    assert 'pip install "amem-integrations[cli]"' in result.stderr
    assert result.stderr.count("\n") == 1
