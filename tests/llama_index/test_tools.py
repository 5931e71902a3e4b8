"""The tools by which an agent recalls and remembers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError, StoreUnavailableError
from amem_integrations.llama_index import create_memory_tools
from tests.llama_index.support import FACT, QUESTION

Call = Callable[..., str]


def call(tool: FunctionTool, **arguments: Any) -> str:
    return tool.call(**arguments).content


def acall(tool: FunctionTool, **arguments: Any) -> str:
    async def run() -> str:
        return (await tool.acall(**arguments)).content

    return asyncio.run(run())


both_forms = pytest.mark.parametrize("form", [call, acall])


def test_a_model_can_choose_nothing_but_what_is_asked_and_kept(core: AgenticMemory) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    for tool, name, argument in ((recall, "recall", "query"), (remember, "remember", "content")):
        assert tool.metadata.name == name
        assert 40 < len(tool.metadata.description) < 1024
        assert set(tool.metadata.get_parameters_dict()["properties"]) == {argument}
    with pytest.raises(TypeError):
        remember.call(content=FACT, namespace="hobbes")
    assert core.count() == 0


@both_forms
def test_remembered_text_is_recalled_in_its_namespace_only(core: AgenticMemory, form: Call) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin", formation="inline")
    assert form(remember, content=FACT) == "Remembered."
    [note] = core.recent(namespace="calvin")
    # The model wrote it.
    assert (note.status, note.source) == (Status.FORMED, "assistant")
    recalled = form(recall, query=QUESTION)
    assert FACT in recalled
    assert recalled.startswith("Notes from memory")
    recall, _ = create_memory_tools(core, namespace="hobbes")
    assert form(recall, query=QUESTION) == "Nothing is remembered about that."


def test_top_k_and_max_tokens_limit_what_is_recalled(core: AgenticMemory) -> None:
    for n in range(6):
        core.add(f"Dog number {n}", namespace="calvin", formation="off")
    few, _ = create_memory_tools(core, namespace="calvin", top_k=2)
    assert call(few, query="dog").count("Dog number") == 2
    short, _ = create_memory_tools(core, namespace="calvin", max_tokens=120)
    assert 1 <= call(short, query="dog").count("Dog number") < 5


@pytest.mark.parametrize(
    "wrong", [{"top_k": -1}, {"top_k": 0}, {"max_tokens": -1}, {"formation": "later"}]
)
def test_an_invalid_argument_is_refused(core: AgenticMemory, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        create_memory_tools(core, namespace="calvin", **wrong)


@both_forms
def test_a_blank_argument_is_explained_to_the_agent(core: AgenticMemory, form: Call) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert "blank" in form(recall, query=" ")
    assert "blank" in form(remember, content="")
    assert core.admin.health() == {}


@both_forms
def test_the_agent_is_told_that_the_memory_is_down_and_the_log_has_no_content(
    core: AgenticMemory,
    form: Call,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def down(*args: Any, **kwargs: Any) -> Any:
        raise StoreUnavailableError(f"down while writing {FACT}")

    for name in ("add_turn", "find"):
        monkeypatch.setattr(f"amem_integrations.llama_index.tools.{name}", down)
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert "cannot be reached" in form(recall, query=QUESTION)
    assert "cannot be reached" in form(remember, content=FACT)
    assert core.admin.health() == {"llama_index.recall.failed": 1, "llama_index.remember.failed": 1}
    assert "The tool remember failed (StoreUnavailableError)" in caplog.text
    assert FACT not in caplog.text


@both_forms
def test_a_model_reads_what_is_wrong_with_its_argument(core: AgenticMemory, form: Call) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert form(recall, query=5) == "query must be text; got int."
    assert form(recall, query=" ").startswith("The query is empty")
    assert form(remember, content=5) == "content must be text; got int."
    assert core.count() == 0
