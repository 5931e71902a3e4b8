"""The tools by which an agent recalls and remembers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError, StoreUnavailableError
from amem_integrations.llama_index import create_memory_tools

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"

Call = Callable[..., str]


def call(tool: FunctionTool, **arguments: Any) -> str:
    return tool.call(**arguments).content


def acall(tool: FunctionTool, **arguments: Any) -> str:
    async def run() -> str:
        return (await tool.acall(**arguments)).content

    return asyncio.run(run())


FORMS = [call, acall]


def test_there_are_two_and_they_say_what_they_are_for(core: AgenticMemory) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert (recall.metadata.name, remember.metadata.name) == ("recall", "remember")
    for tool in (recall, remember):
        assert 40 < len(tool.metadata.description) < 1024


def test_a_model_can_choose_nothing_but_what_is_asked_and_kept(core: AgenticMemory) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert set(recall.metadata.get_parameters_dict()["properties"]) == {"query"}
    assert set(remember.metadata.get_parameters_dict()["properties"]) == {"content"}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_remembered_is_recalled(core: AgenticMemory, form: Call) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert form(remember, content=FACT) == "Remembered."
    told = form(recall, query=QUESTION)
    assert FACT in told
    assert told.startswith("Notes from memory")


@pytest.mark.parametrize("form", FORMS)
def test_another_users_tools_do_not_find_it(core: AgenticMemory, form: Call) -> None:
    form(create_memory_tools(core, namespace="calvin")[1], content=FACT)
    recall, _ = create_memory_tools(core, namespace="hobbes")
    assert form(recall, query=QUESTION) == "Nothing is remembered about that."


def test_an_argument_that_would_change_whose_memory_it_is_is_not_taken(
    core: AgenticMemory,
) -> None:
    _, remember = create_memory_tools(core, namespace="calvin")
    with pytest.raises(TypeError):
        remember.call(content=FACT, namespace="hobbes")
    assert core.count() == 0


@pytest.mark.parametrize("form", FORMS)
def test_how_much_is_told_is_limited(core: AgenticMemory, form: Call) -> None:
    for n in range(6):
        core.add(f"Dog number {n}", namespace="calvin", formation="off")
    few, _ = create_memory_tools(core, namespace="calvin", top_k=2)
    assert form(few, query="dog").count("Dog number") == 2
    short, _ = create_memory_tools(core, namespace="calvin", max_tokens=120)
    assert 1 <= form(short, query="dog").count("Dog number") < 5


@pytest.mark.parametrize(
    "wrong", [{"top_k": -1}, {"hops": -1}, {"max_tokens": -1}, {"formation": "later"}]
)
def test_what_cannot_be_meant_is_refused_when_they_are_made(
    core: AgenticMemory, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        create_memory_tools(core, namespace="calvin", **wrong)


def test_when_it_is_formed_can_be_chosen(core: AgenticMemory) -> None:
    _, remember = create_memory_tools(core, namespace="calvin", formation="inline")
    call(remember, content=FACT)
    assert core.recent(namespace="calvin")[0].status is Status.FORMED


@pytest.mark.parametrize("form", FORMS)
def test_arguments_that_mean_nothing_are_explained_to_the_agent(
    core: AgenticMemory, form: Call
) -> None:
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert "blank" in form(recall, query=" ")
    assert "blank" in form(remember, content="")
    assert core.admin.health() == {}


@pytest.mark.parametrize("form", FORMS)
def test_a_memory_that_is_down_is_told_to_the_agent_counted_and_logged_without_content(
    core: AgenticMemory,
    form: Call,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def down(*args: Any, **kwargs: Any) -> Any:
        raise StoreUnavailableError(f"down while writing {FACT}")

    for name in ("add", "find"):
        monkeypatch.setattr(f"amem_integrations.llama_index.tools.{name}", down)
    recall, remember = create_memory_tools(core, namespace="calvin")
    assert "cannot be reached" in form(recall, query=QUESTION)
    assert "cannot be reached" in form(remember, content=FACT)
    assert core.admin.health() == {"llama_index.recall.failed": 1, "llama_index.remember.failed": 1}
    assert "The tool remember failed (StoreUnavailableError)" in caplog.text
    assert FACT not in caplog.text
