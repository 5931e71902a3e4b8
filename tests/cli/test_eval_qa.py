"""`amem eval qa`: a table, JSON, what is kept, and what is refused."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from typer.testing import CliRunner, Result

from amem_integrations.cli import eval_qa
from amem_integrations.cli.app import app
from amem_integrations.evaluation.recall import timed
from amem_integrations.llms import chat_models
from amem_integrations.llms.langchain import LangChainChatModel
from amem_integrations.testing import ScriptedChatModel
from tests.evaluation.qa.samples import CONVERSATIONS
from tests.evaluation.samples import lines, written
from tests.support import EMBEDDER, chat_model


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No weights are loaded, and whatever is written goes elsewhere."""
    monkeypatch.setattr(eval_qa, "timed", lambda spec: timed(EMBEDDER))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedChatModel:
    """What `--model` means, whatever it says; it answers "a curtain", and judges that right."""

    def reply(messages: list[BaseMessage]) -> dict[str, Any]:
        judging = '"verdict"' in str(messages[-1].content)
        return {"verdict": "right"} if judging else {"answer": "a curtain"}

    scripted = ScriptedChatModel(reply)
    adapted = LangChainChatModel(scripted, name="openai:gpt-4o-mini")
    monkeypatch.setattr(
        chat_models, "resolve_chat_model", lambda spec: None if spec is None else adapted
    )
    return scripted


def call(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["eval", "qa", *arguments])


def report(*arguments: str) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_our_own_conversations_are_asked_out_of_the_box(tmp_path: Path) -> None:
    result = call("--systems", "bm25,nothing")
    assert result.exit_code == 0, result.output
    for system in ("bm25", "nothing"):
        # Once with its answers, once with its evidence.
        assert len(re.findall(rf"^{system} .*\d", result.stdout, re.MULTILINE)) == 2
    assert "3 conversations, 60 questions" in result.stdout
    written = {path.name for path in (tmp_path / "amem-qa").iterdir()}
    assert {"report.html", "report.json", "answers.jsonl"} <= written


def test_the_table_fits_eighty_columns_with_our_memory() -> None:
    output = call(str(CONVERSATIONS), "--limit", "1", "--systems", "amem,dense", "-k", "5").stdout
    tables = [line for line in output.splitlines() if re.match(r"(F1|core|amem|dense) {2,}", line)]
    assert len(tables) == 6
    assert max(map(len, tables)) <= 80


def test_json_has_the_whole_set_up_and_compares_several_k() -> None:
    found = report("--systems", "bm25", "-k", "2", "-k", "20", "--tokens", "3000")
    setup = found["setup"]
    assert (setup["reader"], setup["model"]) == ("extractive", None)
    assert setup["budgets"] == [{"k": k, "tokens": 3000} for k in (2, 20)]
    assert [each["k"] for each in found["systems"]] == [2, 20]


def test_a_model_is_asked_once_for_each_question_however_often_it_is_run(
    model: ScriptedChatModel,
) -> None:
    arguments = ("--systems", "bm25", "--limit", "1", "--model", "openai:gpt-4o-mini")
    first = report(*arguments, "--max-calls", "5", "--concurrency", "1")
    assert (len(model.calls), first["missing"]) == (5, 17)
    second = report(*arguments)
    assert (len(model.calls), second["missing"]) == (22, 0)
    assert report(*arguments)["systems"] == second["systems"]
    assert len(model.calls) == 22
    assert second["usage"]["calls"] == 17
    assert second["setup"]["reported"] == ["scripted"]


def test_notes_that_a_model_formed_are_kept_for_the_next_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forming = chat_model()
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: forming)
    entries = [{**line, "answer": "Ilya"} if "question" in line else line for line in lines()]
    data = str(written(tmp_path / "data.jsonl", entries))
    arguments = (
        data,
        "--systems",
        "amem-batched",
        "--model",
        "openai:any",
        "--reader",
        "extractive",
    )
    # One call forms the notes of a conversation.
    assert report(*arguments, "--max-calls", "1")["missing"] > 0
    assert report(*arguments)["missing"] == 0
    assert len(forming.calls) == 2


def test_a_judge_is_asked_only_if_it_is_wanted(model: ScriptedChatModel) -> None:
    arguments = ("--systems", "nothing", "--limit", "1", "--model", "openai:gpt-4o-mini")
    assert report(*arguments)["setup"]["prompts"].keys() >= {"rules", "temporal"}
    found = report(*arguments, "--judge")
    assert "judge" in found["setup"]["prompts"]
    assert found["systems"][0]["estimates"]["core"]["judge"]["mean"] == 1
    assert len(model.calls) == 44


def test_a_dry_run_asks_nothing(model: ScriptedChatModel) -> None:
    arguments = ("--systems", "bm25,amem-staged", "--model", "openai:gpt-4o-mini", "--dry-run")
    bm25, staged = json.loads(call(*arguments, "--json").stdout)
    assert bm25["calls"] == 60 < staged["calls"]
    assert 0 < bm25["tokens_in"] < staged["tokens_in"]
    assert "in all" in call(*arguments).stdout
    assert model.calls == []


def test_without_the_extra_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score", None)
    result = call("--systems", "nothing")
    assert result.exit_code == 1
    assert "amem-integrations[eval]" in result.output
    assert (tmp_path / "amem-qa" / "answers.jsonl").read_text() == ""


def test_a_limit_of_no_call_leaves_everything_to_be_asked(model: ScriptedChatModel) -> None:
    arguments = ("--systems", "bm25", "--model", "openai:gpt-4o-mini", "--max-calls", "0")
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    assert "Nothing is answered yet" in result.stdout
    assert report(*arguments)["missing"] == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--systems", "amem,magic"), "no system 'magic'; there are amem,"),
        (("--systems", "help"), "no system 'help'; there are"),
        (("--reader", "model"), "--reader model needs a model"),
        (("--systems", "amem-staged"), "'amem-staged' needs a model"),
        (("--judge",), "--judge needs a model"),
    ],
)
def test_what_cannot_be_done_says_why(
    arguments: tuple[str, ...], message: str, model: ScriptedChatModel
) -> None:
    result = call(*arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
