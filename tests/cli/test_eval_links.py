"""`amem eval links`: the labelled demonstration, formed by statistics or by a model."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from amem_integrations.cli import eval as evaluating
from amem_integrations.cli.app import app
from amem_integrations.cli.demo import messages
from amem_integrations.evaluation.recall import timed
from tests.support import EMBEDDER, chat_model, judgement


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No weights are loaded, and a part of the conversation is enough."""
    monkeypatch.setattr(evaluating, "timed", lambda spec: timed(EMBEDDER))
    monkeypatch.setattr(evaluating, "messages", lambda: messages()[:19])


def call(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["eval", "links", *arguments])


def test_links_made_by_statistics_are_judged() -> None:
    result = call("--json")
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    assert (report["notes"], report["unformed"], report["model"]) == (19, 0, None)
    assert 0 < report["true"] <= report["links"]
    assert 0 < report["f1"] <= 1


def test_a_model_that_links_everything_finds_all_and_is_mostly_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def everything(text: str, candidates: Sequence[dict[str, Any]]) -> dict[str, Any]:
        links = [{"to": c["n"], "reason": "so it seems", "strength": 1.0} for c in candidates]
        return judgement(text, links=links)

    model = chat_model(everything)
    opened = evaluating.AgenticMemory
    monkeypatch.setattr(
        evaluating,
        "AgenticMemory",
        lambda *args, **kwargs: opened(*args, **{**kwargs, "model": model}),
    )
    result = call("--model", "openai:scripted")
    assert result.exit_code == 0, result.output
    assert "made by openai:scripted" in result.stdout
    assert "  false: t" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
