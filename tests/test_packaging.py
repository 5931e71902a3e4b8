"""What is installed: the wheel holds the package, its data and its licences, and nothing else."""

import email
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import amem_integrations
from tests.benchmarks.install import extras

ROOT = Path(__file__).parents[1]
DATA = {
    "analysts/languages.toml",
    "analysts/lexicon.toml",
    "demo_data/README.md",
    "demo_data/conversations.jsonl",
    "demo_data/product_team.jsonl",
    "demo_data/product_team_links.json",
    "demo_data/product_team_questions.json",
    "evaluation/qa/paper.json",
    "evaluation/qa/report.html.jinja",
    "embedders/minilm/NOTICE",
    "embedders/minilm/tokenizer.json",
    "embedders/minilm/tokenizer_config.json",
    "py.typed",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def test_a_wheel_holds_every_module(wheel: zipfile.ZipFile) -> None:
    package = ROOT / "amem_integrations"
    ours = {str(file.relative_to(ROOT)) for file in package.rglob("*.py")}
    assert {name for name in wheel.namelist() if name.endswith(".py")} == ours


def test_a_wheel_holds_its_data_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    others = {name for name in wheel.namelist() if not name.endswith(".py")}
    data = {name for name in others if not name.startswith("amem_integrations-")}
    pages = {name for name in data if name.startswith("amem_integrations/view/")}
    assert data - pages == {f"amem_integrations/{name}" for name in DATA}
    folder = ROOT / "amem_integrations" / "view"
    files = (each for each in folder.rglob("*") if each.suffix in (".css", ".html", ".svg"))
    assert pages == {each.relative_to(ROOT).as_posix() for each in files}


def test_a_wheel_brings_its_licences(wheel: zipfile.ZipFile) -> None:
    licences = {Path(name).name for name in wheel.namelist() if "/licenses/" in name}
    assert licences == {"LICENSE", "NOTICE"}


def test_what_others_made_is_named_in_the_notice() -> None:
    assert "embedders/minilm/" in (ROOT / "NOTICE").read_text()


def test_a_wheel_is_small(wheel: zipfile.ZipFile) -> None:
    assert sum(file.compress_size for file in wheel.infolist()) < 1_500_000


def test_metadata_says_who_may_use_it_and_where(metadata: email.message.Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Version"] == amem_integrations.__version__
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_a_bare_install_brings_no_extra(metadata: email.message.Message) -> None:
    bare = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    names = {each.split(";")[0].split("<")[0].split(">")[0].split("=")[0] for each in bare}
    assert names == {
        "fastembed",
        "langchain-core",
        "langgraph",
        "pydantic",
        "qdrant-client",
        "qdrant-edge-py",
        "rjieba",
        "tenacity",
    }


def test_the_readme_names_every_extra() -> None:
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("| extra |") :].split("\n\n")[0]
    assert [extra for extra in extras()[1:] if f"`{extra}`" not in table] == []


def release_notes(version: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / ".github" / "release_notes.py")
    return subprocess.run([sys.executable, script, version], capture_output=True, text=True)


def test_the_changelog_has_notes_for_this_version() -> None:
    told = release_notes(amem_integrations.__version__)
    assert told.returncode == 0
    assert told.stdout.startswith("### Added")
    assert "## 0." not in told.stdout.replace("###", "")


def test_a_version_without_notes_is_not_released() -> None:
    told = release_notes("99.0.0")
    assert told.returncode != 0
    assert "CHANGELOG.md says nothing of 99.0.0" in told.stderr
