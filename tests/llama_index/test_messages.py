"""Which messages were said, what was asked last, and how an utterance is known again."""

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ThinkingBlock

from amem_integrations.llama_index.messages import (
    SPEAKERS,
    Session,
    Spoken,
    last_question,
    spoken_in,
)
from tests.llama_index.support import assistant, system, user

said = st.lists(
    st.builds(Spoken, st.sampled_from(SPEAKERS), st.sampled_from(["ok", "yes", "Rex"])),
    max_size=12,
)


def spoken(message: ChatMessage) -> list[tuple[str, str]]:
    return [(each.speaker, each.text) for each in spoken_in([message], SPEAKERS)]


# -- what was said -------------------------------------------------------------------------------


def test_users_and_assistants_say_things() -> None:
    messages = [system("Be kind."), user("Hello"), assistant("Hi")]
    assert spoken_in(messages, SPEAKERS) == [
        Spoken("user", "Hello"),
        Spoken("assistant", "Hi"),
    ]


def test_only_those_who_are_listened_to_count() -> None:
    assert spoken_in([user("Hello"), assistant("Hi")], ["assistant"]) == [Spoken("assistant", "Hi")]


def test_half_a_character_is_no_reason_to_forget_the_others() -> None:
    assert spoken_in([user("A \ud83d dog \ud83d\ude00")], SPEAKERS) == [
        Spoken("user", "A \ufffd dog \U0001f600")
    ]


def test_texts_of_one_message_belong_together_and_thoughts_do_not_count() -> None:
    blocks = [ThinkingBlock(content="Hm."), TextBlock(text="One"), TextBlock(text="Two")]
    message = ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)
    assert spoken(message) == [("assistant", "One\nTwo")]


def test_of_a_trace_only_the_answer_was_said() -> None:
    trace = (
        'Thought: I look it up.\nAction: weather\nAction Input: {"city": "Bern"}\n'
        "Observation: Answer: it rains, says the tool.\n"
        "Thought: I can answer.\nAnswer: It rains in Bern.\nTake a coat.\nAnswer: really."
    )
    assert spoken(assistant(trace)) == [
        ("assistant", "It rains in Bern.\nTake a coat.\nAnswer: really.")
    ]


def test_a_trace_without_an_answer_says_nothing() -> None:
    assert spoken(assistant("Thought: I wonder.\nAction: weather\nAction Input: {}")) == []
    assert spoken(assistant("Observation: Rain.")) == []


def test_words_that_look_like_a_trace_are_taken_as_they_are_from_a_user() -> None:
    assert spoken(user("Thought: what if?")) == [("user", "Thought: what if?")]


def test_an_answer_that_mentions_a_thought_is_an_answer() -> None:
    assert spoken(assistant("My thought: Answer: no.")) == [
        ("assistant", "My thought: Answer: no.")
    ]


# -- what was asked last -------------------------------------------------------------------------


def test_the_last_question_is_the_users_whatever_came_after_it() -> None:
    messages = [user("One?"), user("Two?"), assistant("Hm"), ChatMessage(role="tool", content="3")]
    assert last_question(messages) == "Two?"
    assert last_question([*messages, user(" ")]) == "Two?"
    assert last_question([assistant("Hello")]) == last_question([]) == ""


# -- how it is known again -----------------------------------------------------------------------


def keys(session: Session, history: list[Spoken]) -> list[str]:
    return [item["key"] for item, _ in session.add(history)]


@given(said)
def test_each_utterance_of_a_session_has_a_key_of_its_own(history: list[Spoken]) -> None:
    assert len(set(keys(Session("s"), history))) == len(history)


@given(said)
def test_the_same_history_has_the_same_keys_in_its_session_only(history: list[Spoken]) -> None:
    assert keys(Session("s"), history) == keys(Session("s"), history)
    assert not set(keys(Session("s"), history)) & set(keys(Session("t"), history))


@given(said, said)
def test_a_history_that_goes_on_is_new_where_it_goes_on(
    before: list[Spoken], after: list[Spoken]
) -> None:
    session = Session("s")
    session.add(before)
    assert [item["content"] for item, _ in session.add_unknown(before + after)] == [
        spoken.text for spoken in after
    ]
    assert session.add_unknown(before + after) == []


@given(said, said)
def test_put_one_by_one_or_set_as_a_whole_the_keys_are_the_same(
    before: list[Spoken], after: list[Spoken]
) -> None:
    one, whole = Session("s"), Session("s")
    put = keys(one, before) + keys(one, after)
    assert put == [item["key"] for item, _ in whole.add_unknown(before + after)]


@given(said, said)
def test_the_latest_spoken_in_are_known_by_their_keys(
    before: list[Spoken], after: list[Spoken]
) -> None:
    session = Session("s")
    session.add(before)
    latest = keys(session, after)
    assert sorted(session.keys(after)) == sorted(latest)


@given(said)
def test_places_in_a_session_are_counted_on(history: list[Spoken]) -> None:
    session = Session("s")
    places = [item["sequence"] for item, _ in [*session.add(history), *session.add(history)]]
    assert places == list(range(2 * len(history)))
