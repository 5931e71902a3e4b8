"""What the caller's callbacks see of a formation: its runs, and nothing of what was said."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    UsageMetadataCallbackHandler,
    get_usage_metadata_callback,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.context import collect_runs
from langgraph.graph import START, MessagesState, StateGraph
from langsmith import Client, tracing_context

from amem_integrations import AgenticMemory, Status
from tests.support import chat_model, judgement, open_memory

SECRET = "Calvin hides rubies"
OWNER = ("org", "calvin-o-malley")
EVENTS = [name for name in dir(BaseCallbackHandler) if name.startswith("on_")]


class Recorder(BaseCallbackHandler):
    """Keeps every event that it is told of, with all that it is told."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def named(self, event: str) -> list[dict[str, Any]]:
        return [known for name, _, known in self.events if name == event]

    @property
    def names(self) -> list[str]:
        return [known["name"] for known in self.named("on_chain_start")]

    def text(self) -> str:
        return repr(self.events)


class AsyncRecorder(Recorder, AsyncCallbackHandler):
    pass


def _set_recorders(event: str) -> None:
    def on(self: Recorder, *given: Any, **known: Any) -> None:
        self.events.append((event, given, known))

    async def aon(self: Recorder, *given: Any, **known: Any) -> None:
        on(self, *given, **known)

    setattr(Recorder, event, on)
    setattr(AsyncRecorder, event, aon)


for name in EVENTS:
    _set_recorders(name)


def secrets(recorder: Recorder) -> list[str]:
    """What of the note, of what was understood of it, and of its owner came through."""
    said = recorder.text()
    wanted = (SECRET, "rubies", "tag-calvin", "About Calvin", "calvin-o-malley", "long-term memory")
    return [each for each in wanted if each in said]


@pytest.fixture
def memory() -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(lambda text, _: judgement(text))) as memory:
        yield memory


@pytest.fixture(params=["sync", "async"])
def remember(request: pytest.FixtureRequest) -> Callable[[AgenticMemory, Any], None]:
    """Adds the secret in a node of a graph that runs under `config`, in either form."""

    def node(memory: AgenticMemory) -> RunnableLambda[Any, Any]:
        def add(state: MessagesState) -> dict[str, Any]:
            memory.add(SECRET, namespace=OWNER)
            return {}

        async def aadd(state: MessagesState) -> dict[str, Any]:
            await memory.aadd(SECRET, namespace=OWNER)
            return {}

        return RunnableLambda(add, afunc=aadd, name="remember")

    def run(memory: AgenticMemory, config: Any) -> None:
        builder = StateGraph(MessagesState)
        builder.add_node("remember", node(memory))
        builder.add_edge(START, "remember")
        graph = builder.compile()
        if request.param == "sync":
            graph.invoke({"messages": []}, config)
        else:
            asyncio.run(graph.ainvoke({"messages": []}, config))

    return run


Remember = Callable[[AgenticMemory, Any], None]


@pytest.mark.parametrize("kind", [Recorder, AsyncRecorder])
def test_a_handler_of_the_surrounding_graph_sees_the_runs_without_content(
    memory: AgenticMemory, remember: Remember, kind: type[Recorder]
) -> None:
    recorder, counted = kind(), UsageMetadataCallbackHandler()
    config = {"callbacks": [recorder, counted], "tags": ["mine"], "metadata": {"my": "own"}}
    remember(memory, config)
    assert secrets(recorder) == []
    assert memory.recent(namespace=OWNER)[0].status is Status.FORMED
    used = memory.usage().total
    assert counted.usage_metadata["scripted"]["input_tokens"] == used.tokens_in > 0
    assert counted.usage_metadata["scripted"]["output_tokens"] == used.tokens_out > 0
    starts = recorder.named("on_chain_start") + recorder.named("on_chat_model_start")
    ends = recorder.named("on_chain_end") + recorder.named("on_llm_end")
    assert {"formation-fused", "accept", "candidates", "judge", "amem_fuse", "commit"} <= set(
        recorder.names
    )
    assert {start["run_id"] for start in starts} == {end["run_id"] for end in ends}
    outermost = [start for start in starts if start["parent_run_id"] is None]
    assert [start["name"] for start in outermost] == ["LangGraph"]
    assert {start["parent_run_id"] for start in starts if start not in outermost} <= {
        start["run_id"] for start in starts
    }
    (formation,) = [start for start in starts if start["name"] == "formation-fused"]
    assert {"amem", "mine"} <= set(formation["tags"])
    about = formation["metadata"]
    assert (about["amem_mode"], about["amem_notes"], about["my"]) == ("fused", 1, "own")
    assert len(about["amem_namespace"]) == 16
    (model,) = recorder.named("on_chat_model_start")
    assert model["metadata"]["amem_step"] == "fuse"
    assert model["metadata"]["ls_model_name"] == "scripted"
    assert "nostream" in model["tags"]


def test_with_trace_content_it_sees_everything(remember: Remember) -> None:
    recorder = Recorder()
    with open_memory(
        model=chat_model(lambda text, _: judgement(text)), trace_content=True
    ) as memory:
        remember(memory, {"callbacks": [recorder]})
    assert {SECRET, "tag-calvin", "long-term memory"} <= set(secrets(recorder))
    assert "formation-fused" in recorder.names


def test_the_words_of_an_error_are_hidden_and_its_kind_is_told(remember: Remember) -> None:
    recorder = Recorder()
    with open_memory(model=chat_model(lambda text, _: 1 / 0 if text else {})) as memory:
        remember(memory, {"callbacks": [recorder]})
        assert memory.recent(namespace=OWNER)[0].last_error
    (error,) = [given[0] for name, given, _ in recorder.events if name == "on_llm_error"]
    assert str(error).startswith("ZeroDivisionError;")
    assert error.__cause__ is None
    assert "division by zero" not in recorder.text()


def test_an_error_of_a_handler_that_wants_it_raised_is_raised(memory: AgenticMemory) -> None:
    class Strict(BaseCallbackHandler):
        raise_error = True

        def on_chat_model_start(self, *given: Any, **known: Any) -> None:
            raise KeyError("strict")

    def add(_: Any) -> None:
        memory.add(SECRET)

    RunnableLambda(add).invoke(None, {"callbacks": [Strict()]})
    note = memory.recent()[0]
    assert note.status is not Status.FORMED
    assert note.last_error is not None


def add(memory: AgenticMemory, form: str) -> None:
    if form == "sync":
        memory.add(SECRET, namespace=OWNER)
    else:
        asyncio.run(memory.aadd(SECRET, namespace=OWNER))


# -- handlers that come by LangChain's context variables -----------------------------------------


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_count_of_tokens_around_add_counts_them_once(memory: AgenticMemory, form: str) -> None:
    with get_usage_metadata_callback() as counted:
        add(memory, form)
    assert counted.usage_metadata["scripted"]["input_tokens"] == memory.usage().total.tokens_in


def test_runs_collected_around_add_hold_no_content(memory: AgenticMemory) -> None:
    with collect_runs() as collected:
        memory.add(SECRET, namespace=OWNER)
    (run,) = collected.traced_runs
    assert run.name == "formation-fused"
    assert [(each.inputs, each.outputs) for each in (run, *run.child_runs)] == [
        ({}, {}) for _ in range(1 + len(run.child_runs))
    ]


class Posted(Client):
    """A LangSmith client that keeps what it would send."""

    def __init__(self) -> None:
        super().__init__(api_url="http://127.0.0.1:1", api_key="none", auto_batch_tracing=False)
        self.sent: list[dict[str, Any]] = []

    def create_run(self, *given: Any, **run: Any) -> None:
        self.sent.append({"given": given, **run})

    def update_run(self, *given: Any, **run: Any) -> None:
        self.sent.append({"given": given, **run})


@pytest.mark.parametrize("form", ["sync", "async"])
def test_langsmith_gets_the_runs_without_content(memory: AgenticMemory, form: str) -> None:
    client = Posted()
    with tracing_context(enabled=True, client=client):
        add(memory, form)
    names = {run.get("name") for run in client.sent}
    assert {"formation-fused", "amem_fuse"} <= names
    assert "rubies" not in repr(client.sent)
    assert "input_tokens" in repr(client.sent)


# -- streams -------------------------------------------------------------------------------------


async def test_a_stream_of_events_shows_the_runs_without_content(memory: AgenticMemory) -> None:
    async def add(_: Any) -> str:
        await memory.aadd(SECRET, namespace=OWNER)
        return "done"

    events = [event async for event in RunnableLambda(add).astream_events(None, version="v2")]
    assert "formation-fused" in {event["name"] for event in events}
    assert "rubies" not in repr(events)
