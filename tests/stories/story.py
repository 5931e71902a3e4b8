"""The scripted chat of `chat.toml`: turns, questions, and the model that knows its notes."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from amem_integrations.testing import ScriptedChatModel
from tests.support import replies, shown_lines, words

Decision = Literal["new", "repeats", "adds", "corrects", "nothing"]
_PROPOSED: Mapping[Decision, str] = {
    "new": "new",
    "adds": "new",
    "repeats": "repetition",
    "corrects": "correction",
    "nothing": "nothing",
}
_LINKS: Mapping[Decision, str] = {"adds": "same-matter", "corrects": "contradicts"}
_TURNS_APART = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Idea:
    """One idea of a turn, and what a perfect memory decides about it.

    key: the name of the fact that it says, else "". of: the fact that it repeats, adds to or
    corrects. note: what a strong model makes of it.
    """

    text: str
    decision: Decision
    key: str
    of: str
    note: Mapping[str, Any]

    @property
    def link(self) -> str:
        """The kind of the link to the fact `of`, which a model gives; "" for none."""
        return _LINKS.get(self.decision, "")


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of the chat. number: its place in its session, from 0."""

    session: str
    number: int
    time: datetime
    speaker: str
    text: str
    ideas: tuple[Idea, ...]

    @property
    def id(self) -> str:
        return f"{self.session}.{self.number}"

    @property
    def is_reply(self) -> bool:
        return self.speaker == "assistant"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. first: the facts of which one must come first."""

    text: str
    first: frozenset[str]


class Story:
    """The whole chat, read from a file."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.turns: Sequence[Said] = [
            _said(session, number, turn)
            for session in data["session"]
            for number, turn in enumerate(session["turn"])
        ]
        self.questions = [
            Asked(each["text"], frozenset(each["first"])) for each in data["question"]
        ]
        self.ideas = [idea for turn in self.turns for idea in turn.ideas]
        self._by_text = {idea.text: [idea] for idea in self.ideas}
        self._by_text |= {turn.text: [*turn.ideas] for turn in self.turns}
        self.outdated = {idea.of: idea.key for idea in self.ideas if idea.decision == "corrects"}

    @property
    def exchanges(self) -> list[tuple[Said, Said]]:
        """What was said to the assistant, and its reply."""
        return list(zip(self.turns[::2], self.turns[1::2], strict=True))

    def ideas_in(self, text: str) -> list[Idea]:
        """The ideas that a note's text is; else those of which it is a part, or which it holds."""
        near = (idea for idea in self.ideas if idea.text in text or text in idea.text)
        return self._by_text.get(text) or list(near)

    def facts_in(self, text: str) -> frozenset[str]:
        """The names of the facts that a note's text holds; none for what is no fact."""
        return frozenset(idea.key for idea in self.ideas_in(text) if idea.key)

    def is_noise(self, text: str) -> bool:
        """Whether a note's text is a question, thanks or an echo."""
        return not self.facts_in(text)


def _said(session: Mapping[str, Any], number: int, turn: Mapping[str, Any]) -> Said:
    return Said(
        session["id"],
        number,
        session["time"] + number * _TURNS_APART,
        turn["by"],
        turn["text"],
        tuple(_idea(each, turn["by"]) for each in turn.get("idea", [turn])),
    )


def _idea(data: Mapping[str, Any], speaker: str) -> Idea:
    of = data.get("of", "")
    # Users who say a thing again say it; the assistant's echo is no source of its own.
    said_again = data["is"] == "repeats" and speaker != "assistant"
    key = data.get("key", of if said_again else "")
    # What is worth no note has one all the same if the model is asked.
    note = data.get("note") or {
        "keywords": words(data["text"]),
        "tags": ["chat", "remark"],
        "context": "",
        "questions": [],
    }
    return Idea(data["text"], data["is"], key, of, note)


STORY = Story(tomllib.loads(Path(__file__).with_name("chat.toml").read_text(encoding="utf-8")))


# -- the model -------------------------------------------------------------------------------


def story_model() -> ScriptedChatModel:
    """A model that makes of each note of the chat what a strong one does."""
    judge = replies(_judge)

    def reply(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        *candidates, last = shown_lines(messages)
        return _split(last["turn"], candidates) if "turn" in last else judge(messages)

    return ScriptedChatModel(reply)


def _judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """The note of a text, and its links to the facts that it adds to or corrects."""
    ideas = STORY.ideas_in(text)
    idea = next((idea for idea in ideas if idea.key), ideas[0])
    links = [
        {"to": to, "reason": idea.decision, "kind": idea.link, "strength": 0.9}
        for to in _named(idea.of, candidates)
        if idea.link
    ]
    return {**idea.note, "links": links, "evolutions": []}


def _split(turn: Mapping[str, Any], candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """The ideas of a turn, as `answers.ideas` reads them."""
    sentences = [(each["s"], each["text"]) for each in turn["sentences"]]
    ideas = STORY.ideas_in(" ".join(text for _, text in sentences))
    proposals = [
        {
            "first": next(s for s, text in sentences if idea.text.startswith(text)),
            "kind": _PROPOSED[idea.decision],
            "of": next(iter(_named(idea.of, candidates)), ""),
        }
        for idea in ideas
    ]
    for each in proposals:
        if each["kind"] in ("repetition", "correction") and not each["of"]:
            each["kind"] = "new"
        elif each["kind"] in ("new", "nothing"):
            each["of"] = ""
    return {"ideas": proposals}


def _named(fact: str, candidates: list[dict[str, Any]]) -> list[str]:
    """The numbers of the candidates that are a fact."""
    numbered = [each for each in candidates if "n" in each]
    return [each["n"] for each in numbered if fact in STORY.facts_in(each["text"])]
