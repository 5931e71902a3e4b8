"""`amem eval scale`: its tables, its JSON and its picture."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from amem_integrations.cli.app import app
from amem_integrations.evaluation.scaling import scale as scaling

STEPS = ("store", "accept", "construct", "candidates", "link", "evolve", "commit")
REPORT: dict[str, Any] = {
    "rows": [
        {
            "storage": name,
            "size": size,
            "disk": 2_000 * size,
            "memory": memory,
            "microseconds": {"p50": 1500.0, "p95": 2500.0},
            "asked": 5,
        }
        for name, memory in (("amem", 3_000_000), ("memorybank", None))
        for size in (1000, 10_000)
    ],
    "growth": {"amem": 0.12, "memorybank": 1.0},
    "base": {"amem": 1, "memorybank": None},
    "writing": [
        {"size": size, "milliseconds": {step: place + 0.25 for place, step in enumerate(STEPS)}}
        for size in (1000, 10_000)
    ],
    "missing": {"chroma": "chromadb is not installed"},
    "paper": [{"size": 1000, **scaling.PAPER[1000]}],
    "setup": {
        "k": 10,
        "questions": 5,
        "passes": 3,
        "seed": 0,
        "dimension": 384,
        "python": "3.11",
        "machine": "Linux",
        "cores": 2,
        "load": 0.5,
        "versions": {"numpy": "2"},
    },
}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was to be measured; nothing is."""
    calls: list[dict[str, Any]] = []

    def measure(sizes: list[int], **settings: Any) -> dict[str, Any]:
        calls.append({"sizes": sizes, **settings})
        return REPORT

    monkeypatch.setattr(scaling, "scale", measure)
    return calls


def call(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, ["eval", "scale", *arguments])


def test_sizes_and_storages_are_lists(asked: list[dict[str, Any]]) -> None:
    assert call("--sizes", "1k, 10k", "--storages", "amem,chroma").exit_code == 0
    assert asked[0]["sizes"] == [1000, 10_000]
    assert asked[0]["storages"] == ["amem", "chroma"]


def test_the_tables_show_what_was_measured() -> None:
    lines = [" ".join(line.split()) for line in call().output.splitlines()]
    assert "amem 1,000 1.500 2.500 3.0 2.0" in lines
    assert "10,000 1.500 2.500 n/a 20.0 n^1.00" in lines
    assert "1,000 0.25 1.25 2.25 3.25 4.25 5.25 6.25" in lines
    assert "1,000 1.46 0.31 0.24 43.62" in lines
    assert "chroma: n/a, chromadb is not installed." in lines


def test_json_is_the_whole_report() -> None:
    assert json.loads(call("--json").stdout) == REPORT


def test_a_wrong_size_is_refused() -> None:
    result = call("--sizes", "many")
    assert result.exit_code == 1
    assert "1k, 5000 or 1m" in result.output


def test_the_picture_has_a_line_for_each_storage_and_step(tmp_path: Path) -> None:
    from amem_integrations.plots.growth import growth

    picture = growth(REPORT)
    names = [trace.name for trace in picture.figure.data]
    assert names.count("amem") == 2
    assert names.count("writing: commit") == 1
    assert list(picture.figure.data[0].y) == [1.5, 1.5]
    assert picture.remarks == ("chroma is not shown: chromadb is not installed.",)
    out = tmp_path / "growth.html"
    assert call("--out", str(out)).exit_code == 0
    assert "amem n^0.12, memorybank n^1.00" in out.read_text("utf-8")
