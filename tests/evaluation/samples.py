"""Small conversations in each format that `amem eval` reads, written for these tests."""

import json
from pathlib import Path
from typing import Any

BOAT = [
    ("Nora", "The sloop needs a new mainsail before the regatta in June."),
    ("Ilya", "I can sew one, my grandfather was a sailmaker in Odesa."),
    ("Nora", "Wonderful! The harbour master wants the mooring fee by Friday."),
    ("Ilya", "I paid the mooring fee this morning, two hundred crowns."),
]
GARDEN = [
    ("Priya", "The tomatoes in the greenhouse have blight again."),
    ("Tom", "Then plant garlic between the rows, it keeps the fungus away."),
    ("Priya", "My beehive gave eleven jars of honey this summer."),
]


def locomo() -> list[dict[str, Any]]:
    """Two samples; the first has a defect of every kind that is known."""
    return [
        {
            "sample_id": "boat",
            "conversation": {
                "speaker_a": "Nora",
                "speaker_b": "Ilya",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [_turn("D1:1", *BOAT[0]), _turn("D1:2", *BOAT[1])],
                "session_2_date_time": "12:09 am on 13 September, 2023",
                "session_2": [
                    _turn("D2:1", *BOAT[2]),
                    {**_turn("D2:2", *BOAT[3]), "blip_caption": "a receipt with a stamp"},
                    _turn("D2:3", "Nora", ""),
                    {**_turn("D2:4", "Nora", ""), "blip_caption": "a cat on deck"},
                ],
                "session_3_date_time": "9:00 am on 1 October, 2023",
            },
            "qa": [
                _qa("Who can sew a mainsail?", ["D1:2"], 4),
                _qa("What do the sloop and the mooring need?", ["D1:1; D2:1", "D2:02"], 1),
                _qa("When was the mooring fee paid?", ["D:2:2"], 2),
                _qa("Who is the sailmaker's cat?", ["D", "D7:1", "D1:2"], 5),
                _qa("What is lost?", ["D9:9"], 3),
                _qa("What has no evidence?", [], 3),
            ],
        },
        {
            "sample_id": "garden",
            "conversation": {
                "session_1_date_time": "8:15 pm on 2 July, 2023",
                "session_1": [_turn(f"D1:{n}", *said) for n, said in enumerate(GARDEN, 1)],
            },
            "qa": [
                _qa("What ails the tomatoes in the greenhouse?", ["D1:1"], 4),
                _qa("How many jars of honey came from the beehive?", ["D1:3"], 1),
            ],
        },
    ]


def beam() -> list[dict[str, Any]]:
    """One chat of two sessions."""
    return [
        {
            "id": 7,
            "messages": [
                _message(0, "user", "I am knitting a scarf for my aunt.", "March-15-2024"),
                _message(1, "assistant", "Merino wool is warm and light."),
                _message(2, "user", "She turned seventy yesterday.", "April-05-2024"),
            ],
            "questions": [
                {"category": "information_extraction", "question": "For whom?", "gold": [0]},
                {"category": "event_ordering", "question": "In which order?", "gold": [0, 2]},
            ],
        }
    ]


def lines() -> list[dict[str, Any]]:
    """Two conversations as lines of JSON."""
    found: list[dict[str, Any]] = []
    for name, turns in (("boat", BOAT), ("garden", GARDEN)):
        for number, (speaker, text) in enumerate(turns, 1):
            found.append(
                {
                    "conversation": name,
                    "turn": f"t{number}",
                    "speaker": speaker,
                    "session": "1",
                    "time": f"2026-03-0{number}T09:00:00Z",
                    "text": text,
                }
            )
    for name, question, evidence, category in (
        ("boat", "Who can sew a mainsail?", ["t2"], "one"),
        ("boat", "Which fee did the harbour master want, and was it paid?", ["t3", "t4"], "two"),
        ("garden", "How many jars of honey did the beehive give?", ["t3"], "one"),
    ):
        found.append(
            {"conversation": name, "question": question, "evidence": evidence, "category": category}
        )
    return found


def written(path: Path, content: Any) -> Path:
    """`path` with a JSON document, or with lines of JSON if its name says so."""
    if path.suffix == ".jsonl":
        text = "\n".join(json.dumps(line) for line in content)
    else:
        text = json.dumps(content, indent=1)
    path.write_text(text, "utf-8")
    return path


def _turn(id: str, speaker: str, text: str) -> dict[str, Any]:
    return {"dia_id": id, "speaker": speaker, "text": text}


def _qa(question: str, evidence: list[str], category: int) -> dict[str, Any]:
    return {"question": question, "evidence": evidence, "category": category, "answer": "-"}


def _message(id: int, role: str, content: str, anchor: str | None = None) -> dict[str, Any]:
    return {"id": id, "role": role, "content": content, "time_anchor": anchor}
