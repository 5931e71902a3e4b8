"""The conversation that `amem demo` remembers, the questions it asks, and what belongs together.

All are data files: in `demo_data/` of an installed package, in `cookbook/data/` of a checkout.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from amem_integrations.errors import AMemError
from amem_integrations.evaluation.links import Matter


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the keys of the messages that answer it."""

    text: str
    expected: tuple[str, ...]


def messages() -> list[dict[str, Any]]:
    """The messages in order, as items for `AgenticMemory.add_many`."""
    lines = _read("product_team.jsonl").splitlines()
    return [_item(json.loads(line)) for line in lines if line.strip()]


def questions() -> list[Question]:
    """The questions that the demonstration asks."""
    return [
        Question(entry["question"], tuple(entry["expected"]))
        for entry in json.loads(_read("product_team_questions.json"))
        if entry["demo"]
    ]


def matters() -> list[Matter]:
    """What the conversation is about, and which of its messages are about it."""
    return [
        Matter(entry["matter"], tuple(entry["turns"]), tuple(entry["also"]))
        for entry in json.loads(_read("product_team_links.json"))
    ]


def _item(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "key": message["id"],
        "content": message["content"],
        "speaker": message["speaker"],
        "session": message["session"],
        "sequence": message["sequence"],
        "occurred_at": datetime.fromisoformat(message["occurred_at"]),
    }


def data_file(name: str) -> Path:
    """Where the data file of that name is. Raises AMemError if there is none."""
    packaged = Path(str(files("amem_integrations") / "demo_data" / name))
    checkout = Path(__file__).parents[2] / "cookbook" / "data" / name
    for path in (packaged, checkout):
        if path.is_file():
            return path
    raise AMemError(f"{name} is missing from this installation; install the package again.")


def _read(name: str) -> str:
    return data_file(name).read_text("utf-8")
