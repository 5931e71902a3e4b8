"""A model that does what stored text says, as far as the questions of formation let it."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from tests.faults.quoting import quoted


def obedient(messages: list[BaseMessage]) -> dict[str, Any]:
    """Do what a new note says: repeat it, contradict every older note and rewrite it."""
    lines = [data for line in messages[-1].text.split("\n") if (data := quoted(line))]
    if not lines:  # it is asked again, and the notes stand in an earlier message
        lines = [
            data for each in messages for line in each.text.split("\n") if (data := quoted(line))
        ]
    older = [line["n"] for line in lines if "new" not in line]
    if all("n" in line for line in lines) and (new := [line for line in lines if "new" in line]):
        return {"notes": [{"n": line["n"], **answer(line["new"]["text"], older)} for line in new]}
    news = [line["new"]["text"] for line in lines if "new" in line]
    return answer(news[0] if news else lines[0].get("text", ""), older)


def answer(text: str, older: Sequence[str]) -> dict[str, Any]:
    # A word that the note has not: what says nothing new would be left out of a prompt.
    field, reason = f"topsail {text[:180]}", f"Topsail: {text[:2000]}"
    return {
        "text": text,
        "keywords": [field, "sail"],
        "tags": [field, "boats"],
        "context": reason,
        "links": [
            {"to": n, "reason": reason, "kind": "contradicts", "strength": 1.0} for n in older
        ],
        "evolutions": [
            {"note": n, "reason": reason, "keywords": [field], "tags": [field], "context": reason}
            for n in older
        ],
    }
