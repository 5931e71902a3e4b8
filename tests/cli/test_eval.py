"""`amem eval recall`, `abstention` and `links`: tables, JSON, and what is refused."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from amem_integrations.cli import eval as evaluating
from amem_integrations.cli.app import app
from amem_integrations.cli.demo import messages
from amem_integrations.evaluation.recall import timed
from amem_integrations.recall.signals import DEFAULT_OPTIONS, SHARES
from tests.evaluation.samples import lines, locomo, written
from tests.support import EMBEDDER, chat_model, judgement


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """No weights are loaded, whatever --embedder says, and links need a part of the talk only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluating, "timed", lambda spec: timed(EMBEDDER))
        patch.setattr(evaluating, "messages", lambda: messages()[:19])
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("data") / "data.json", locomo())


def call(command: str, *arguments: str | Path, **env: str) -> Result:
    runner = CliRunner(env={"COLUMNS": "80", **env})
    return runner.invoke(app, ["eval", command, *map(str, arguments)])


def table(command: str, *arguments: str | Path) -> str:
    result = call(command, *arguments)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout


def report(command: str, *arguments: str | Path) -> dict[str, Any]:
    result = call(command, *arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_the_table_has_every_category_and_run_and_what_was_measured(data: Path) -> None:
    output = table("recall", data, "--baseline", "amem-dense", "--without", "words", "--hops", "0")
    for group in ("core (5)", "multi-hop (2)", "single-hop (2)", "temporal (1)"):
        assert group in output
    assert output.index("adversarial (1)") > output.index("temporal (1)")
    for run in ("amem", "amem-dense", "without words"):
        # Once for each of the five groups, and once with its times.
        assert len(re.findall(rf"^ *{run} +\d", output, re.MULTILINE)) == 6
    assert re.search(r"worth of +R@5, core +R@10, core +R@10, multi-hop\n", output)
    assert re.search(r"^words +[+-]\d+\.\d", output, re.MULTILINE)
    assert "locomo, 2 conversations, 8 turns, 6 questions" in output
    assert "dates without a session: 1" in output
    assert "8 formed" in output
    assert "hops=0, meaning=0.5" in output
    assert re.search(r"fingerprint +[0-9a-f]{12}", output)


def test_a_long_name_of_a_category_takes_no_number_its_place(tmp_path: Path) -> None:
    long = [{**line, "category": "x" * 70} if "question" in line else line for line in lines()]
    output = table("recall", written(tmp_path / "data.jsonl", long), "--formation", "off")
    assert "xxx…" in output
    assert "worth of" not in output
    core, category = re.findall(r"^ *amem +(\d.*)$", output, re.MULTILINE)[:2]
    assert category == core


def test_runs_are_compared_with_the_baseline_and_without_each_signal(data: Path) -> None:
    arguments = ("--baseline", "amem-dense", "--ablate", "-k", "3", "-k", "1")
    found = report("recall", data, *arguments, "--set", "damping=0", "--set", "fan_out=9")
    amem, dense, *runs = found["runs"]
    names = ["recall@1", "recall@3", "recall@10", "mrr", "ndcg@10", "all@10"]
    assert list(amem["estimates"]["core"]) == names
    for metric in ("recall@3", "mrr"):
        difference = dense["difference"]["core"][metric]["mean"]
        means = [run["estimates"]["core"][metric]["mean"] for run in (amem, dense)]
        assert difference == pytest.approx(means[0] - means[1])
    *signals, evolution, formation = runs
    assert [run["name"] for run in signals][:2] == ["without meaning", "without asked"]
    assert [evolution["name"], formation["name"]] == ["without evolution", "without formation"]
    assert amem["options"]["meaning"] == DEFAULT_OPTIONS.meaning
    for run in signals:
        name = run["name"].removeprefix("without ")
        # What takes a share away is off where it leaves all of it.
        assert run["options"][name] == (1.0 if name in SHARES else 0)
        assert run["options"]["damping"] == 0
        assert run["options"]["fan_out"] == (0 if name == "fan_out" else 9)


def test_raw_notes_have_no_formation_to_leave_out(data: Path) -> None:
    found = report("recall", data, "--ablate", "--formation", "off")
    assert found["filling"]["notes"] == {"raw": 8}
    names = {run["name"] for run in found["runs"]}
    assert not {"without evolution", "without formation"} & names


def test_an_earlier_report_is_one_more_run_and_a_location_is_used_again(
    data: Path, tmp_path: Path
) -> None:
    kept, mine, earlier = tmp_path / "kept", tmp_path / "mine", tmp_path / "by-words.json"
    first = call("recall", data, "--set", "meaning=0", "--json", "-l", kept)
    earlier.write_text(first.stdout, "utf-8")
    assert kept.exists()
    again = call(
        "recall", data, "--against", earlier, "--json", "-l", kept, AMEM_LOCATION=str(mine)
    )
    # What is measured with is no part of anybody's memory.
    assert not mine.exists()
    now, then = json.loads(again.stdout)["runs"]
    assert (now["name"], then["name"]) == ("amem", "by-words")
    assert then["estimates"] == json.loads(first.stdout)["runs"][0]["estimates"]
    assert set(then["difference"]) == set(now["estimates"])


def test_a_limit_takes_the_first_conversations(data: Path) -> None:
    found = report("recall", data, "--limit", "1", "--formation", "off")
    assert found["fingerprint"]["data"]["conversations"] == 1
    assert {question["conversation"] for question in found["questions"]} == {"boat"}
    # One conversation shows no spread.
    assert found["runs"][0]["estimates"]["core"]["mrr"]["low"] is None


def test_a_model_forms_the_notes_and_its_calls_are_shown(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: chat_model())
    output = table("recall", data, "--model", "openai:gpt-4o-mini")
    assert "8 formed" in output
    # Batched: one call for each conversation.
    assert re.search(r"^model calls +2, 0 failed", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("recall", ["--without", "colour"], "There is no signal 'colour' to switch off"),
        ("recall", ["--set", "meaning=-1"], "Signal weights are 0 or more"),
        ("recall", ["--formation", "model"], "--formation model goes with --model"),
        ("recall", ["--formation", "off", "--model", "openai:x"], "--formation model goes with"),
        ("abstention", ["--limit", "1"], "here is only one"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_1(
    data: Path, command: str, arguments: list[str], message: str
) -> None:
    result = call(command, data, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_no_data_ends_with_its_line_and_exit_code_1(tmp_path: Path) -> None:
    result = call("recall", written(tmp_path / "data.jsonl", [{"turn": 1, "text": "a"}, {}]))
    assert result.exit_code == 1
    assert 'line 2, "turn": Field required' in result.stderr


@pytest.mark.parametrize("arguments", [["--baseline", "guess"], ["-k", "0"], ["--limit", "0"], []])
def test_what_no_option_allows_is_exit_code_2(arguments: list[str], data: Path) -> None:
    assert call("recall", *arguments, *([data] if arguments else [])).exit_code == 2


def test_the_curve_of_abstention_is_a_table(tmp_path: Path) -> None:
    output = table("abstention", written(tmp_path / "data.jsonl", lines()))
    head, first, *_ = output.splitlines()
    assert " ".join(head.split()) == "min_relevance empty, other's empty, own evidence lost"
    assert first.count("%") == 3
    assert "json-lines, 2 conversations" in output


def test_json_has_a_point_for_every_loss_and_for_the_value_that_is_set(tmp_path: Path) -> None:
    data = written(tmp_path / "data.jsonl", lines())
    arguments = ("--hops", "0", "-k", "3", "--set", "min_relevance=.55")
    found = report("abstention", data, *arguments)
    assert len(found["points"]) == 7
    assert found["points"][0]["lost"]["mean"] == 0.0
    assert 0.55 in [point["threshold"] for point in found["points"]]
    assert (found["fingerprint"]["k"], found["fingerprint"]["hops"]) == (3, 0)


def test_links_made_by_statistics_are_judged() -> None:
    found = report("links")
    assert (found["notes"], found["unformed"], found["model"]) == (19, 0, None)
    assert 0 < found["true"] <= found["links"]
    assert 0 < found["f1"] <= 1


def test_a_model_that_links_everything_is_mostly_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(text: str, candidates: Sequence[dict[str, Any]]) -> dict[str, Any]:
        links = [{"to": c["n"], "reason": "so it seems", "strength": 1.0} for c in candidates]
        return judgement(text, links=links)

    monkeypatch.setattr(
        "langchain.chat_models.init_chat_model", lambda name: chat_model(everything)
    )
    output = table("links", "--model", "openai:scripted")
    assert "made by openai:scripted" in output
    assert "  false: t" in output
