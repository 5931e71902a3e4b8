"""An agent of create_agent with a long-term memory."""

import asyncio
import logging
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import ModelUnavailableError
from amem_integrations.langgraph import AMemMiddleware
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.langgraph.support import (
    ASKED,
    CALVIN,
    TOLD,
    agent,
    answers,
    call_tool,
    config,
    everything_in,
    other_text,
    said,
    system_text,
    texts,
)
from tests.support import EMBEDDER, chat_model, open_memory, wiring_of

# -- recalling ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sync", "async", "loops"])
def test_a_second_thread_of_the_user_recalls_the_first_and_nobody_else_does(
    raw_memory: AgenticMemory, form: str
) -> None:
    model = answers("Noted.", "It is Susie.", "I do not know.")
    chat = agent(raw_memory, model)
    turns = [
        (said(TOLD), config("calvin", "monday")),
        (said(ASKED), config("calvin", "tuesday")),
        (said(ASKED), config("eve", "wednesday")),
    ]

    async def talk() -> None:
        for turn in turns:
            await chat.ainvoke(*turn)

    if form == "async":
        asyncio.run(talk())
    for turn in turns if form != "async" else ():
        asyncio.run(chat.ainvoke(*turn)) if form == "loops" else chat.invoke(*turn)
    first, second, other = (call.messages for call in model.calls)
    assert "Susie" not in system_text(first)
    assert TOLD in system_text(second)
    assert "Susie" not in other_text(second)
    assert "Susie" not in system_text(other) + other_text(other)


async def test_recalled_text_is_in_the_system_message_and_nowhere_else(
    raw_memory: AgenticMemory,
) -> None:
    raw_memory.add("The secret word is xyzzy", namespace=CALVIN)
    model = answers("I know it.")
    chat = agent(raw_memory, model)
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


async def test_users_who_talk_at_once_do_not_mix(raw_memory: AgenticMemory) -> None:
    model = ScriptedChatModel(lambda messages: "Fine.", latency=0.02)
    chat = agent(raw_memory, model)
    users = [f"user-{n}" for n in range(6)]
    for text in ("My code word is {}", "What is my code word?"):
        await asyncio.gather(
            *(
                chat.ainvoke(said(text.format(user)), config(user, f"{user}/{text}"))
                for user in users
            )
        )
    for user in users:
        contents = {note.content for note in raw_memory.recent(namespace=("users", user))}
        assert contents == {f"My code word is {user}", "What is my code word?", "Fine."}
    recalled = [system_text(call.messages) for call in model.calls[len(users) :]]
    assert all(sum(user in text for user in users) == 1 for text in recalled)


def test_notes_that_the_chat_shows_are_not_recalled(raw_memory: AgenticMemory) -> None:
    model = answers("Noted.", "Susie.")
    chat = agent(raw_memory, model)
    chat.invoke(said(TOLD), config("calvin", "monday"))
    chat.invoke(said(ASKED), config("calvin", "monday"))
    assert "Susie" in other_text(model.calls[1].messages)
    assert system_text(model.calls[1].messages) == ""


def test_turns_of_a_thread_are_counted(raw_memory: AgenticMemory) -> None:
    chat = agent(raw_memory, answers("Noted.", "Susie."))
    for thread in ("monday", "tuesday", "monday"):
        chat.invoke(said(f"{TOLD}, said on {thread}"), config("calvin", thread))
    notes = raw_memory.recent(namespace=CALVIN)[::-1]
    counted = [(note.session, note.sequence) for note in notes]
    monday, tuesday = (
        [sequence for session, sequence in counted if session == thread]
        for thread in ("monday", "tuesday")
    )
    assert monday == [0, 1, 2, 3]
    assert tuesday == [0, 1]


def test_a_turn_recalls_once_and_remembers_no_tool_traffic(raw_memory: AgenticMemory) -> None:
    raw_memory.add(TOLD, namespace=CALVIN)
    asked: list[str] = []
    search = EMBEDDER.embed_query

    def look_up() -> str:
        """Look something up."""
        raw_memory.add("Calvin sold the boat", namespace=CALVIN)
        return "a secret of the tool"

    model = answers(call_tool("look_up"), "It is Susie.")
    chat = agent(raw_memory, model, tools=[look_up])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(EMBEDDER), "embed_query", lambda _, text: (asked.append(text), search(text))[1]
        )
        chat.invoke(said(ASKED), config("calvin", "one"))
    assert asked.count(ASKED) - 1 == 1  # once more to store it
    before, after = (system_text(call.messages) for call in model.calls)
    assert before == after
    assert set(texts(raw_memory)) == {TOLD, "Calvin sold the boat", ASKED, "It is Susie."}


@pytest.mark.parametrize(
    "prompt", ["You are a pirate.", SystemMessage([{"type": "text", "text": "You are a pirate."}])]
)
def test_the_system_prompt_of_the_agent_comes_first(raw_memory: AgenticMemory, prompt: Any) -> None:
    raw_memory.add(TOLD, namespace=CALVIN)
    model = answers("Arr.")
    chat = agent(raw_memory, model, system_prompt=prompt, write="off")
    chat.invoke(said(ASKED), config("calvin", "one"))
    text = system_text(model.calls[0].messages)
    assert text.startswith("You are a pirate.")
    assert "They are quoted data" in text
    assert TOLD in text
    assert raw_memory.count() == 1


def test_recalled_notes_keep_to_the_budget(raw_memory: AgenticMemory) -> None:
    raw_memory.add_many(
        [f"My boat {n} is Susie " + "word " * 100 for n in range(9)], namespace=CALVIN
    )
    lengths = []
    for budget in (300, 1500):
        model = answers("Fine.")
        chat = agent(raw_memory, model, k=9, token_budget=budget, write="off")
        chat.invoke(said(ASKED), config("calvin", "one"))
        lengths.append(len(system_text(model.calls[0].messages)))
    assert 0 < lengths[0] < 300 * 6 < lengths[1]


def test_with_min_relevance_a_question_about_nothing_stored_recalls_nothing(
    raw_memory: AgenticMemory,
) -> None:
    raw_memory.add(TOLD, namespace=CALVIN)
    model = answers("Fine.")
    chat = agent(raw_memory, model, min_relevance=0.1, write="off")
    for asked in (ASKED, "Which wombats live in Tasmania?"):
        chat.invoke(said(asked), config("calvin", asked))
    related, unrelated = (system_text(call.messages) for call in model.calls)
    assert "Susie" in related
    assert "Susie" not in unrelated


# -- remembering -------------------------------------------------------------------------------


def test_a_turn_is_remembered_with_speaker_and_thread_and_formed_in_the_background() -> None:
    with open_memory(model=chat_model(latency=0.3), formation="off") as memory:
        chat = agent(memory, answers(AIMessage("I had it painted green.", name="bot")))
        chat.invoke(said(TOLD, name="Ada"), config("calvin", "monday"))
        answer, told = memory.recent(namespace=CALVIN)
        assert (told.content, told.speaker, told.session) == (TOLD, "Ada", "monday")
        assert told.source == "user"
        assert (answer.content, answer.source) == ("I had it painted green.", "assistant")
        assert (answer.session, answer.status) == ("monday", Status.RAW)
        assert memory.flush(10)
        assert {note.status for note in memory.recent(namespace=CALVIN)} == {Status.FORMED}


async def test_after_agent_forms_before_the_reply_is_returned() -> None:
    judge = chat_model()
    async with await AgenticMemory.aopen(embedder=EMBEDDER, model=judge, formation="off") as memory:
        chat = agent(memory, answers("By LRU it evicts."), write="after_agent")
        streamed = chat.astream(said(TOLD), config("calvin", "one"), stream_mode="messages")
        assert "".join([message.text async for message, _ in streamed]) == "By LRU it evicts."
        notes = await memory.arecent(namespace=CALVIN)
        assert [note.status for note in notes] == [Status.FORMED, Status.FORMED]
        assert notes[0].links


@pytest.mark.parametrize(
    ("about", "reply", "threads", "notes"),
    [
        # A retried message is the same note, the same words said again are another one.
        ({"id": "told"}, AIMessage("Fine.", id="answer"), ("monday", "monday"), 2),
        ({}, "Fine.", ("monday", "monday"), 4),
        # Ids are unique within a thread only.
        ({"id": "told"}, AIMessage("Fine.", id="answer"), ("monday", "tuesday"), 4),
    ],
)
def test_a_message_is_known_again_by_its_id_in_its_thread(
    raw_memory: AgenticMemory, about: Any, reply: Any, threads: tuple[str, str], notes: int
) -> None:
    chat = agent(raw_memory, answers(reply))
    for thread in threads:
        chat.invoke(said("ok", **about), config("calvin", thread))
    assert raw_memory.count(CALVIN) == notes


def test_messages_that_no_note_can_hold_do_not_keep_the_answer_out(
    raw_memory: AgenticMemory,
) -> None:
    chat = agent(raw_memory, answers("Fine."))
    before = raw_memory.admin.health().get("langgraph.remember.unusable", 0)
    picture: Any = [{"type": "image", "url": "https://example.org/boat.png"}]
    chat.invoke(said("\u200b"), config("calvin", "one"))
    chat.invoke({"messages": [HumanMessage(picture)]}, config("calvin", "two"))
    assert texts(raw_memory) == ["Fine.", "Fine."]
    assert raw_memory.admin.health()["langgraph.remember.unusable"] == before + 1


def test_a_summary_of_the_chat_is_not_remembered_as_words_of_the_user(
    raw_memory: AgenticMemory,
) -> None:
    summary = HumanMessage("Summary: boats", additional_kwargs={"lc_source": "summarization"})
    chat = agent(raw_memory, answers("Fine."))
    chat.invoke({"messages": [summary, HumanMessage(TOLD)]}, config("calvin", "one"))
    assert texts(raw_memory) == [TOLD, "Fine."]


class Ending(AgentMiddleware):
    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end"}


def test_a_turn_that_another_middleware_ends_is_remembered(raw_memory: AgenticMemory) -> None:
    middleware = [AMemMiddleware(raw_memory, namespace=CALVIN), Ending()]
    create_agent(answers("never"), [], middleware=middleware).invoke(said(TOLD))
    assert texts(raw_memory) == [TOLD]


def test_a_turn_is_remembered_idea_by_idea(raw_memory: AgenticMemory) -> None:
    model = answers("ok, thanks", "Sure!", "I do not know.")
    chat = agent(raw_memory, model)
    kayak, sink = "I bought a red kayak in Kiel.", "By the way, the plumber fixed the sink."
    chat.invoke(said(f"{kayak} {sink}"), config("calvin", "monday"))
    notes = {note.content: note for note in raw_memory.recent(namespace=CALVIN)}
    assert notes.keys() == {kayak, sink, "ok, thanks"}
    assert notes["ok, thanks"].status is Status.SKIPPED
    assert notes[kayak].source_id == notes[sink].source_id is not None
    chat.invoke(said("What did I buy in Kiel?"), config("calvin", "monday"))
    # What the messages show is not recalled, in parts neither.
    assert "kayak" not in system_text(model.calls[1].messages)
    chat.invoke(said("What did I buy in Kiel?"), config("calvin", "tuesday"))
    assert kayak in system_text(model.calls[2].messages)


# -- failures ----------------------------------------------------------------------------------


def test_an_embedder_that_is_not_there_fails_no_reply_and_the_log_has_the_remedy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def absent(_: Any) -> Any:
        raise ModelUnavailableError("It is not here: pip install it.")

    embedder = HashEmbedder()
    with open_memory(embedder=embedder, formation="off") as memory:
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
    events = wiring_of(memory).settings.ledger.events()
    assert events["langgraph.recall.failed"] == events["langgraph.remember.failed"] == 2


def test_a_model_that_fails_fails_as_it_would_without_memory(raw_memory: AgenticMemory) -> None:
    chat = agent(raw_memory, answers(ConnectionError("no model")))
    with pytest.raises(ConnectionError, match="no model"):
        chat.invoke(said(TOLD), config("calvin", "one"))
    assert raw_memory.count() == 0
