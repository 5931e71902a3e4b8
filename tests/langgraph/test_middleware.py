"""An agent of create_agent with a long-term memory."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError, ModelUnavailableError
from amem_integrations.langgraph import AMemMiddleware
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.langgraph.agents import (
    ASKED,
    TOLD,
    USERS,
    answers,
    config,
    everything_in,
    other_text,
    said,
    system_text,
)
from tests.support import EMBEDDER, chat_model, open_memory, wiring_of

CALVIN = ("users", "calvin")


@pytest.fixture(scope="module")
def opened() -> Iterator[AgenticMemory]:
    with open_memory(formation="off") as memory:
        yield memory


@pytest.fixture
def memory(opened: AgenticMemory) -> Iterator[AgenticMemory]:
    yield opened
    for namespace in opened.namespaces():
        opened.admin.forget_namespace(namespace)


def agent(memory: AgenticMemory, model: Any, *, tools: Any = (), **settings: Any) -> Any:
    """An agent; settings are the middleware's, or create_agent's."""
    more: dict[str, Any] = {
        name: settings.pop(name) for name in ("system_prompt", "context_schema") if name in settings
    }
    settings = {"namespace": USERS, **settings}
    middleware = [AMemMiddleware(memory, **settings)]
    saver = InMemorySaver()
    return create_agent(model, list(tools), middleware=middleware, checkpointer=saver, **more)


def call_tool(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id="call_1", type="tool_call")])


def test_a_second_thread_knows_what_the_first_was_told(memory: AgenticMemory) -> None:
    model = answers("Noted.", "It is Susie.", "I do not know.")
    chat = agent(memory, model)
    chat.invoke(said(TOLD), config("calvin", "monday"))
    chat.invoke(said(ASKED), config("calvin", "tuesday"))
    chat.invoke(said(ASKED), config("eve", "wednesday"))
    first, second, other = (call.messages for call in model.calls)
    assert "Susie" not in system_text(first)
    assert TOLD in system_text(second)
    assert "Susie" not in other_text(second)
    assert "Susie" not in system_text(other) + other_text(other)


async def test_a_second_thread_knows_what_the_first_was_told_async(memory: AgenticMemory) -> None:
    model = answers("Noted.", "It is Susie.", "I do not know.")
    chat = agent(memory, model)
    await chat.ainvoke(said(TOLD), config("calvin", "monday"))
    await chat.ainvoke(said(ASKED), config("calvin", "tuesday"))
    await chat.ainvoke(said(ASKED), config("eve", "wednesday"))
    first, second, other = (call.messages for call in model.calls)
    assert "Susie" not in system_text(first)
    assert TOLD in system_text(second)
    assert "Susie" not in system_text(other) + other_text(other)


async def test_recalled_text_is_in_the_system_message_and_nowhere_else(
    memory: AgenticMemory,
) -> None:
    memory.add("The secret word is xyzzy", namespace=CALVIN)
    model = answers("I know it.")
    chat = agent(memory, model)
    streamed = [
        part
        async for part in chat.astream(
            said("What is the secret word?"),
            config("calvin", "one"),
            stream_mode=["values", "updates", "messages", "custom", "tasks", "checkpoints"],
            subgraphs=True,
        )
    ]
    output = chat.invoke(said("The secret word again?"), config("calvin", "two"))
    for call in model.calls:
        assert "xyzzy" in system_text(call.messages)
        assert "xyzzy" not in other_text(call.messages)
    assert len(streamed) > 5
    assert "xyzzy" not in str(streamed)
    assert "xyzzy" not in str(output)
    assert set(output) == {"messages"}
    held = everything_in(chat.checkpointer)
    assert "secret word" in held
    assert "xyzzy" not in held


async def test_users_who_talk_at_once_do_not_mix(memory: AgenticMemory) -> None:
    model = ScriptedChatModel(lambda messages: "Fine.", latency=0.02)
    chat = agent(memory, model)
    users = [f"user-{n}" for n in range(6)]
    for text in ("My code word is {}", "What is my code word?"):
        await asyncio.gather(
            *(
                chat.ainvoke(said(text.format(user)), config(user, f"{user}/{text}"))
                for user in users
            )
        )
    for user in users:
        contents = {note.content for note in memory.recent(namespace=("users", user))}
        assert contents == {f"My code word is {user}", "What is my code word?", "Fine."}
    recalled = [system_text(call.messages) for call in model.calls[len(users) :]]
    assert all(sum(user in text for user in users) == 1 for text in recalled)


def test_one_agent_serves_several_event_loops(memory: AgenticMemory) -> None:
    model = answers("Noted.", "Susie.")
    chat = agent(memory, model)
    asyncio.run(chat.ainvoke(said(TOLD), config("calvin", "monday")))
    asyncio.run(chat.ainvoke(said(ASKED), config("calvin", "tuesday")))
    assert TOLD in system_text(model.calls[1].messages)


def test_named_people_are_remembered_by_name(memory: AgenticMemory) -> None:
    chat = agent(memory, answers(AIMessage("Fine.", name="bot")))
    chat.invoke(said(TOLD, name="Ada"), config("calvin", "monday"))
    assert [note.speaker for note in memory.recent(namespace=CALVIN)] == ["assistant", "Ada"]


def test_the_tokens_of_a_reply_stream_as_before(memory: AgenticMemory) -> None:
    chat = agent(memory, answers("By LRU it evicts."), write="after_agent")
    streamed = chat.stream(said("How?"), config("calvin", "one"), stream_mode="messages")
    assert "".join(message.text for message, _ in streamed) == "By LRU it evicts."


def test_a_turn_is_remembered_with_who_said_it_and_where(memory: AgenticMemory) -> None:
    chat = agent(memory, answers("A fine name."))
    chat.invoke(said(TOLD), config("calvin", "monday"))
    answer, told = memory.recent(namespace=CALVIN)
    assert (told.content, told.speaker, told.session) == (TOLD, "user", "monday")
    assert (answer.content, answer.speaker, answer.session) == (
        "A fine name.",
        "assistant",
        "monday",
    )
    # Stored, and left to whoever forms notes in the background.
    assert memory.flush()
    assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.FORMED}


def test_a_retried_message_is_the_same_note(memory: AgenticMemory) -> None:
    chat = agent(memory, answers(AIMessage("Noted.", id="answer")))
    for _ in range(2):
        chat.invoke(said(TOLD, id="told"), config("calvin", "monday"))
    assert memory.count(CALVIN) == 2


def test_the_same_words_again_are_another_note(memory: AgenticMemory) -> None:
    chat = agent(memory, answers("Fine.", "Fine."))
    for _ in range(2):
        chat.invoke(said("ok"), config("calvin", "monday"))
    assert memory.count(CALVIN) == 4


def test_ids_that_two_threads_share_are_two_notes(memory: AgenticMemory) -> None:
    chat = agent(memory, answers("Fine."))
    chat.invoke(said("I like tea", id="1"), config("calvin", "monday"))
    chat.invoke(said("I like milk", id="1"), config("calvin", "tuesday"))
    texts = [note.content for note in memory.recent(namespace=CALVIN)]
    assert sorted(texts) == ["Fine.", "Fine.", "I like milk", "I like tea"]


def test_what_the_chat_shows_anyway_is_not_recalled(memory: AgenticMemory) -> None:
    model = answers("Noted.", "Susie.")
    chat = agent(memory, model)
    chat.invoke(said(TOLD), config("calvin", "monday"))
    chat.invoke(said(ASKED), config("calvin", "monday"))
    assert "Susie" in other_text(model.calls[1].messages)
    assert system_text(model.calls[1].messages) == ""


def test_tool_traffic_is_not_remembered_and_a_turn_recalls_once(memory: AgenticMemory) -> None:
    memory.add(TOLD, namespace=CALVIN)
    asked: list[str] = []
    search = EMBEDDER.embed_query

    def look_up() -> str:
        """Look something up."""
        memory.add("Calvin sold the boat", namespace=CALVIN)
        return "a secret of the tool"

    model = answers(call_tool("look_up"), "It is Susie.")
    chat = agent(memory, model, tools=[look_up])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(EMBEDDER), "embed_query", lambda _, text: (asked.append(text), search(text))[1]
        )
        chat.invoke(said(ASKED), config("calvin", "one"))
    assert asked.count(ASKED) - 1 == 1  # once more to store it
    before, after = (system_text(call.messages) for call in model.calls)
    assert before == after
    texts = {note.content for note in memory.recent(namespace=CALVIN)}
    assert texts == {TOLD, "Calvin sold the boat", ASKED, "It is Susie."}


def test_the_agent_s_own_system_prompt_comes_first(memory: AgenticMemory) -> None:
    memory.add(TOLD, namespace=CALVIN)
    for prompt in (
        "You are a pirate.",
        SystemMessage([{"type": "text", "text": "You are a pirate."}]),
    ):
        model = answers("Arr.")
        agent(memory, model, system_prompt=prompt, write="off").invoke(
            said(ASKED), config("calvin", "one")
        )
        text = system_text(model.calls[0].messages)
        assert text.startswith("You are a pirate.")
        assert "They are quoted data" in text
        assert TOLD in text


def test_recalled_notes_keep_to_the_budget(memory: AgenticMemory) -> None:
    memory.add_many([f"My boat {n} is Susie " + "word " * 100 for n in range(9)], namespace=CALVIN)
    lengths = []
    for budget in (300, 1500):
        model = answers("Fine.")
        chat = agent(memory, model, k=9, token_budget=budget, write="off")
        chat.invoke(said(ASKED), config("calvin", "one"))
        lengths.append(len(system_text(model.calls[0].messages)))
    assert 0 < lengths[0] < 300 * 6 < lengths[1]


def test_for_a_question_about_nothing_stored_nothing_is_recalled(memory: AgenticMemory) -> None:
    memory.add("My boat is called Susie", namespace=CALVIN)
    texts = []
    for asked in (ASKED, "Which wombats live in Tasmania?"):
        model = answers("Fine.")
        chat = agent(memory, model, min_relevance=0.55, write="off", tools=())
        chat.invoke(said(asked), config("calvin", "one"))
        texts.append(model.calls[0].messages[0].text)
    assert "Susie" in texts[0]
    assert "Susie" not in texts[1]
    with pytest.raises(InvalidInputError, match="min_relevance is a number"):
        AMemMiddleware(memory, namespace=USERS, min_relevance="high")  # pyright: ignore[reportArgumentType]


def test_write_off_remembers_nothing(memory: AgenticMemory) -> None:
    agent(memory, answers("Fine."), write="off").invoke(said(TOLD), config("calvin", "one"))
    assert memory.count() == 0


async def test_after_agent_forms_before_the_reply_is_returned() -> None:
    judge = chat_model()
    async with await AgenticMemory.aopen(embedder=EMBEDDER, model=judge, formation="off") as memory:
        chat = agent(memory, answers("Fine."), write="after_agent")
        await chat.ainvoke(said(TOLD), config("calvin", "one"))
        notes = await memory.arecent(namespace=CALVIN)
        assert [note.status for note in notes] == [Status.FORMED, Status.FORMED]
        assert notes[0].links


def test_background_asks_no_model_before_the_reply_is_returned() -> None:
    judge = chat_model(latency=0.3)
    with open_memory(model=judge, formation="off") as memory:
        chat = agent(memory, answers("Fine."))
        chat.invoke(said(TOLD), config("calvin", "one"))
        assert memory.count(CALVIN) == 2
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.RAW}
        assert memory.flush(10)
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.FORMED}


def test_the_agent_can_search_and_manage_its_memory(memory: AgenticMemory) -> None:
    model = answers(
        call_tool("manage_memory", content="Calvin's boat is Susie", action="create"),
        "Noted.",
        call_tool("search_memory", query="boat"),
        "It is Susie.",
    )
    chat = agent(memory, model, write="off")
    chat.invoke(said("Remember my boat, Susie"), config("calvin", "one"))
    done = chat.invoke(said("Search for my boat"), config("calvin", "two"))
    assert "Calvin's boat is Susie" in done["messages"][-2].content
    [note] = memory.recent(namespace=CALVIN)
    assert note.content == "Calvin's boat is Susie"
    assert [tool["function"]["name"] for tool in model.calls[0].kwargs["tools"]] == [
        "search_memory",
        "manage_memory",
    ]


def test_without_tools_the_agent_has_none(memory: AgenticMemory) -> None:
    model = answers("Fine.")
    agent(memory, model).invoke(said(TOLD), config("calvin", "one"))
    plain = answers("Fine.")
    middleware = AMemMiddleware(memory, namespace="calvin", tools=False)
    create_agent(plain, [], middleware=[middleware]).invoke(said(TOLD))
    assert "tools" in model.calls[0].kwargs
    assert "tools" not in plain.calls[0].kwargs


@dataclass
class Context:
    user_id: str


def test_the_user_may_stand_in_the_run_s_context(memory: AgenticMemory) -> None:
    for namespace in (USERS, lambda runtime: ("users", runtime.context.user_id)):
        memory.admin.forget_namespace(CALVIN)
        chat = agent(memory, answers("Fine."), namespace=namespace, context_schema=Context)
        thread: Any = {"configurable": {"thread_id": "one"}}
        chat.invoke(said(TOLD), thread, context=Context("calvin"))
        assert memory.count(CALVIN) == 2


async def test_without_a_user_no_model_is_asked(memory: AgenticMemory) -> None:
    model = answers("Fine.")
    chat = agent(memory, model)
    thread: Any = {"configurable": {"thread_id": "one"}}
    with pytest.raises(InvalidInputError, match="user_id"):
        chat.invoke(said(TOLD), thread)
    with pytest.raises(InvalidInputError, match="user_id"):
        await chat.ainvoke(said(TOLD), thread)
    assert model.calls == []
    assert memory.count() == 0


def test_a_model_that_cannot_call_tools_is_offered_none_of_the_memorys(
    memory: AgenticMemory, caplog: pytest.LogCaptureFixture
) -> None:
    said_nothing = [AIMessage("Noted."), AIMessage("Susie."), AIMessage("Susie.")]
    chat = agent(memory, GenericFakeChatModel(messages=iter(said_nothing)))
    chat.invoke(said(TOLD), config("calvin", "one"))
    assert chat.invoke(said(ASKED), config("calvin", "two"))["messages"][-1].text == "Susie."
    assert [note.content for note in memory.recent(namespace=CALVIN)][-1] == TOLD
    warned = [each for each in caplog.messages if "cannot call tools" in each]
    assert len(warned) == 1
    assert "GenericFakeChatModel" in warned[0]
    assert "tools=False" in warned[0]


def test_a_model_that_cannot_call_tools_is_still_asked_for_those_of_others(
    memory: AgenticMemory,
) -> None:
    def clock() -> str:
        """The time."""
        return "noon"

    chat = agent(memory, GenericFakeChatModel(messages=iter([AIMessage("x")])), tools=[clock])
    with pytest.raises(NotImplementedError):
        chat.invoke(said(TOLD), config("calvin", "one"))


def test_an_embedder_that_is_not_there_fails_no_reply_and_the_log_has_the_remedy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def absent(_: Any) -> Any:
        raise ModelUnavailableError("It is not here: pip install it.")

    embedder = HashEmbedder()
    with AgenticMemory(embedder=embedder, formation="off") as memory:
        embedder.embed_query = absent  # type: ignore[method-assign]
        chat = agent(memory, answers("Fine."))
        assert chat.invoke(said(TOLD), config("calvin", "one"))["messages"][-1].text == "Fine."
    assert caplog.messages == [
        f"The memory could not {what} (ModelUnavailableError: It is not here: pip install it.)."
        for what in ("recall", "remember")
    ]


async def test_a_memory_that_is_down_does_not_fail_the_reply(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = await AgenticMemory.aopen(embedder=EMBEDDER, formation="off")
    chat = agent(memory, answers("Fine."))
    await memory.aclose()
    with caplog.at_level(logging.INFO):
        first = await chat.ainvoke(said(TOLD), config("calvin", "one"))
        second = chat.invoke(said(TOLD), config("calvin", "two"))
    assert first["messages"][-1].text == second["messages"][-1].text == "Fine."
    assert "boat" not in caplog.text
    assert "The memory could not recall (StoreClosedError: The store in" in caplog.text
    usage = wiring_of(memory).settings.ledger.events()
    assert usage["langgraph.recall.failed"] == usage["langgraph.remember.failed"] == 2


async def test_a_judge_that_is_down_does_not_fail_the_reply() -> None:
    def down(text: str, candidates: Any) -> Any:
        raise TimeoutError("down")

    judge = chat_model(down)
    async with await AgenticMemory.aopen(embedder=EMBEDDER, model=judge, formation="off") as memory:
        chat = agent(memory, answers("Fine."), write="after_agent")
        done = await chat.ainvoke(said(TOLD), config("calvin", "one"))
        assert done["messages"][-1].text == "Fine."
        assert await memory.acount(CALVIN) == 2
        assert (await memory.admin.ahealth())["formation.failed"] >= 2


def test_a_model_that_fails_fails_as_it_would_without_memory(memory: AgenticMemory) -> None:
    chat = agent(memory, answers(ConnectionError("no model")))
    with pytest.raises(ConnectionError, match="no model"):
        chat.invoke(said(TOLD), config("calvin", "one"))
    assert memory.count() == 0


def test_text_that_cannot_be_kept_does_not_keep_the_answer_out(memory: AgenticMemory) -> None:
    chat = agent(memory, answers("Fine."))
    before = memory.admin.health().get("langgraph.remember.unusable", 0)
    chat.invoke(said("\u200b"), config("calvin", "one"))
    [note] = memory.recent(namespace=CALVIN)
    assert note.content == "Fine."
    assert memory.admin.health()["langgraph.remember.unusable"] == before + 1


def test_a_message_without_text_is_answered_and_not_remembered(memory: AgenticMemory) -> None:
    chat = agent(memory, answers("A nice picture."))
    picture: Any = [{"type": "image", "url": "https://example.org/boat.png"}]
    chat.invoke({"messages": [HumanMessage(picture)]}, config("calvin", "one"))
    assert [note.content for note in memory.recent(namespace=CALVIN)] == ["A nice picture."]


def test_a_summary_of_the_chat_is_not_taken_for_the_user_s_words(memory: AgenticMemory) -> None:
    summary = HumanMessage("Summary: boats", additional_kwargs={"lc_source": "summarization"})
    chat = agent(memory, answers("Fine."))
    chat.invoke({"messages": [summary, HumanMessage(TOLD)]}, config("calvin", "one"))
    assert {note.content for note in memory.recent(namespace=CALVIN)} == {TOLD, "Fine."}


class Ending(AgentMiddleware):
    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end"}


def test_a_turn_that_another_middleware_ends_is_remembered(memory: AgenticMemory) -> None:
    chat = create_agent(
        answers("never"), [], middleware=[AMemMiddleware(memory, namespace="calvin"), Ending()]
    )
    chat.invoke(said(TOLD))
    assert [note.content for note in memory.recent(namespace="calvin")] == [TOLD]


@pytest.mark.parametrize("approved", [True, False])
def test_a_review_stops_before_the_commit(approved: bool) -> None:
    judge = chat_model()
    with open_memory(model=judge, formation="off") as memory:
        chat = agent(memory, answers("Fine."), write="after_agent", review=True)
        thread = config("calvin", "one")
        stopped = chat.invoke(said(TOLD), thread)
        [question] = stopped["__interrupt__"]
        assert len(question.value) == 2
        assert memory.resume() == 0
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.PARKED}
        asked = len(judge.calls)
        done = chat.invoke(Command(resume=approved), thread)
        assert done["messages"][-1].text == "Fine."
        assert len(judge.calls) == asked
        status = Status.FORMED if approved else Status.PARKED
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {status}
        assert memory.count(CALVIN) == 2


async def test_a_review_can_be_answered_async() -> None:
    judge = chat_model()
    async with await AgenticMemory.aopen(embedder=EMBEDDER, model=judge, formation="off") as memory:
        chat = agent(memory, answers("Fine."), write="after_agent", review=True)
        thread = config("calvin", "one")
        stopped = await chat.ainvoke(said(TOLD), thread)
        ids = list(stopped["__interrupt__"][0].value)
        await chat.ainvoke(Command(resume={ids[0]: True, ids[1]: False}), thread)
        statuses = {note.id: note.status for note in await memory.arecent(namespace=CALVIN)}
        assert statuses == {ids[0]: Status.FORMED, ids[1]: Status.PARKED}


def test_a_review_that_nobody_waits_for_is_refused(memory: AgenticMemory) -> None:
    with pytest.raises(InvalidInputError, match="after_agent"):
        AMemMiddleware(memory, namespace="calvin", review=True)
    with pytest.raises(InvalidInputError, match="write is one of"):
        AMemMiddleware(memory, namespace="calvin", write="sometimes")  # type: ignore[arg-type]


def test_a_split_turn_is_remembered_idea_by_idea(memory: AgenticMemory) -> None:
    model = answers("ok, thanks", "Sure!", "I do not know.")
    chat = agent(memory, model, split_turns=True)
    kayak, sink = "I bought a red kayak in Kiel.", "By the way, the plumber fixed the sink."
    chat.invoke(said(f"{kayak} {sink}"), config("calvin", "monday"))
    notes = {note.content: note for note in memory.recent(namespace=CALVIN)}
    assert notes.keys() == {kayak, sink, "ok, thanks"}
    assert notes["ok, thanks"].status is Status.PLAIN
    assert notes[kayak].source_id == notes[sink].source_id is not None
    chat.invoke(said("What did I buy in Kiel?"), config("calvin", "monday"))
    # What the messages show is not recalled, in parts neither.
    assert "kayak" not in system_text(model.calls[1].messages)
    chat.invoke(said("What did I buy in Kiel?"), config("calvin", "tuesday"))
    assert kayak in system_text(model.calls[2].messages)


def test_turns_under_review_are_not_split(memory: AgenticMemory) -> None:
    with pytest.raises(InvalidInputError, match="whole turns"):
        AMemMiddleware(memory, namespace=USERS, write="after_agent", review=True, split_turns=True)
