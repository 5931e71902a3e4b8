"""`amem eval recall`: a table, JSON, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from amem_integrations.cli import eval as evaluating
from amem_integrations.cli.app import app
from amem_integrations.evaluation.recall import timed
from amem_integrations.recall.signals import DEFAULT_OPTIONS, SHARES
from tests.evaluation.samples import lines, locomo, written
from tests.support import EMBEDDER, chat_model


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No weights are loaded, whatever --embedder says."""
    monkeypatch.setattr(evaluating, "timed", lambda spec: timed(EMBEDDER))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "data.json", locomo())


def call(*arguments: str | Path, **env: str) -> Result:
    runner = CliRunner(env={"COLUMNS": "80", **env})
    return runner.invoke(app, ["eval", "recall", *map(str, arguments)])


def report(*arguments: str | Path) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_table_has_every_category_and_run_within_eighty_columns(data: Path) -> None:
    result = call(data, "--baseline", "amem-dense", "--without", "words")
    assert result.exit_code == 0, result.output
    output = result.stdout
    assert max(map(len, output.splitlines())) <= 80
    for group in ("core (5)", "multi-hop (2)", "single-hop (2)", "temporal (1)"):
        assert group in output
    assert output.index("adversarial (1)") > output.index("temporal (1)")
    for run in ("amem", "amem-dense", "without words"):
        # Once for each of the five groups, and once with its times.
        assert len(re.findall(rf"^ *{run} +\d", output, re.MULTILINE)) == 6


def test_a_long_name_of_a_category_takes_no_number_its_place(tmp_path: Path) -> None:
    long = [{**line, "category": "x" * 70} if "question" in line else line for line in lines()]
    output = call(written(tmp_path / "data.jsonl", long)).stdout
    assert max(map(len, output.splitlines())) <= 80
    assert "xxx…" in output
    core, category = re.findall(r"^ *amem +(\d.*)$", output, re.MULTILINE)[:2]
    assert category == core


def test_the_table_says_what_was_measured_and_what_the_file_has_wrong(data: Path) -> None:
    output = call(data, "--hops", "0").stdout
    assert "locomo, 2 conversations, 8 turns, 6 questions" in output
    assert "dates without a session: 1" in output
    assert "8 formed" in output
    assert "hops=0, meaning=0.5" in output
    assert re.search(r"fingerprint +[0-9a-f]{12}", output)


def test_json_has_the_runs_with_their_estimates(data: Path) -> None:
    found = report(data, "--baseline", "amem-dense", "-k", "3", "-k", "1")
    amem, dense = found["runs"]
    names = ["recall@1", "recall@3", "recall@10", "mrr", "ndcg@10", "all@10"]
    assert list(amem["estimates"]["core"]) == names
    for metric in ("recall@3", "mrr"):
        difference = dense["difference"]["core"][metric]["mean"]
        means = [run["estimates"]["core"][metric]["mean"] for run in (amem, dense)]
        assert difference == pytest.approx(means[0] - means[1])


def test_ablate_leaves_out_each_signal_in_turn(data: Path) -> None:
    _, *runs = report(data, "--ablate", "--set", "damping=0")["runs"]
    *signals, evolution, formation = runs
    assert [run["name"] for run in signals][:2] == ["without meaning", "without words"]
    assert [evolution["name"], formation["name"]] == ["without evolution", "without formation"]
    for run in signals:
        name = run["name"].removeprefix("without ")
        # What takes a share away is off where it leaves all of it.
        assert run["options"][name] == (1.0 if name in SHARES else 0)
        assert run["options"]["damping"] == 0


def test_raw_notes_have_no_formation_to_leave_out(data: Path) -> None:
    runs = report(data, "--ablate", "--formation", "off")["runs"]
    assert not {"without evolution", "without formation"} & {run["name"] for run in runs}


def test_what_a_signal_is_worth_has_a_table_of_its_own(data: Path) -> None:
    shown = call(data, "--without", "speaker").stdout
    assert re.search(r"worth of +R@5, core +R@10, core +R@10, multi-hop\n", shown)
    assert re.search(r"^speaker +[+-]\d+\.\d", shown, re.MULTILINE)
    assert "worth of" not in call(data).stdout


def test_settings_hold_for_every_run(data: Path) -> None:
    runs = report(data, "--set", "damping=0.25", "--set", "fan_out=9", "--without", "meaning")[
        "runs"
    ]
    assert [run["options"]["damping"] for run in runs] == [0.25, 0.25]
    assert [run["options"]["fan_out"] for run in runs] == [9, 9]
    assert [run["options"]["meaning"] for run in runs] == [DEFAULT_OPTIONS.meaning, 0]


def test_an_earlier_report_is_one_more_run(data: Path, tmp_path: Path) -> None:
    earlier = tmp_path / "by-words.json"
    earlier.write_text(call(data, "--set", "meaning=0", "--json").stdout, "utf-8")
    now, then = report(data, "--against", earlier)["runs"]
    assert (now["name"], then["name"]) == ("amem", "by-words")
    assert then["estimates"] == json.loads(earlier.read_text("utf-8"))["runs"][0]["estimates"]
    assert set(then["difference"]) == set(now["estimates"])


def test_a_limit_takes_the_first_conversations(data: Path) -> None:
    found = report(data, "--limit", "1")
    assert found["fingerprint"]["data"]["conversations"] == 1
    assert {question["conversation"] for question in found["questions"]} == {"boat"}
    # One conversation shows no spread.
    assert found["runs"][0]["estimates"]["core"]["mrr"]["low"] is None


def test_notes_are_left_raw_if_asked(data: Path) -> None:
    assert report(data, "--formation", "off")["filling"]["notes"] == {"raw": 8}


def test_a_model_forms_the_notes_and_its_calls_are_shown(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: chat_model())
    result = call(data, "--model", "openai:gpt-4o-mini")
    assert result.exit_code == 0, result.output
    assert "8 formed" in result.stdout
    # Batched: one call for each conversation.
    assert re.search(r"^model calls +2, 0 failed", result.stdout, re.MULTILINE)


def test_a_location_is_used_again_and_the_environment_s_is_not(tmp_path: Path) -> None:
    data, kept = written(tmp_path / "data.jsonl", lines()), tmp_path / "kept"
    first, second = (report(data, "-l", kept) for _ in range(2))
    assert first["runs"][0]["ranks"] == second["runs"][0]["ranks"]
    mine = tmp_path / "mine"
    assert call(data, AMEM_LOCATION=str(mine)).exit_code == 0
    assert kept.exists()
    assert not mine.exists()


def test_nothing_but_json_is_printed_with_json(data: Path) -> None:
    result = call(data, "--json")
    json.loads(result.stdout)
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--without", "colour"], "There is no signal 'colour' to switch off"),
        (["--set", "meaning=-1"], "Signal weights are 0 or more"),
        (["--formation", "model"], "--formation model goes with --model"),
        (["--formation", "off", "--model", "openai:x"], "--formation model goes with --model"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_1(
    data: Path, arguments: list[str], message: str
) -> None:
    result = call(data, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_no_data_ends_with_its_line_and_exit_code_1(tmp_path: Path) -> None:
    path = written(tmp_path / "data.jsonl", [{"turn": 1, "text": "a"}, {"turn": 2}])
    result = call(path)
    assert result.exit_code == 1
    assert 'line 2, "text": Field required' in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--baseline", "guess"], ["--mode", "clever"], ["-k", "0"], ["--limit", "0"], []]
)
def test_what_no_option_allows_is_exit_code_2(arguments: list[str], data: Path) -> None:
    assert call(*arguments, *([data] if arguments else [])).exit_code == 2
