"""What the A-Mem paper reports (arXiv 2502.12110): tables 1, 3, 5, 6 and 8, and figure 3.

The numbers are in `paper.json`, in percent, by model and by the paper's name of the method.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

METHODS: Mapping[str, str] = {
    "full-context": "LoCoMo",
    "readagent": "ReadAgent",
    "memorybank": "MemoryBank",
    "memgpt": "MemGPT",
    "amem": "A-MEM",
    "amem-staged": "A-MEM",
    "amem-fused": "A-MEM",
    "amem-batched": "A-MEM",
}
"""The paper's name of a system that is a method of its."""
ABLATIONS: Mapping[str, str] = {
    "amem": "full",
    "amem-without-evolution": "w/o ME",
    "amem-without-both": "w/o LG & ME",
}
ABLATED_MODEL = SWEPT_MODEL = "GPT-4o-mini"
_MODELS = (
    (r"gpt-4o-mini", "GPT-4o-mini"),
    (r"gpt-4o", "GPT-4o"),
    (r"qwen-?2\.5.*1\.5b", "Qwen2.5-1.5b"),
    (r"qwen-?2\.5.*3b", "Qwen2.5-3b"),
    (r"llama-?3\.2.*1b", "Llama3.2-1b"),
    (r"llama-?3\.2.*3b", "Llama3.2-3b"),
)


@cache
def tables() -> Mapping[str, Any]:
    """By name: "table1", "table3", "table5", "table6", "table8", "figure3"."""
    return json.loads((files(__package__ or "") / "paper.json").read_text("utf-8"))


def told(table: str, model: str, method: str | None, measure: str, group: str) -> float | None:
    """One number of table 1, 5 or 6; None where there is none."""
    row: Mapping[str, Any] = tables()[table].get(model, {}).get(method, {})
    return row.get(measure, {}).get(group)


def model_like(name: str | None) -> str | None:
    """The paper's name of the model of that name, or None if it is none of the paper's."""
    found = (ours for pattern, ours in _MODELS if name and re.search(pattern, name, re.I))
    return next(found, None)
