"""What may be in a prompt that quotes stored text: the oracle of the tests of attacks.

A prompt is compared to one of harmless notes. What is not a line of quoted data must be the same
in both, whatever is stored.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from amem_integrations.recall.prompt import LINE
from tests.faults.attacks import TOKENS

Prompt = Sequence[tuple[str, str]]
"""Messages: the role and the text of each."""

Shape = tuple[tuple[str, str], ...]
"""A prompt without its quoted data."""

_FENCE = re.compile(r"`{3,}(?=$)")
_TAG = re.compile(r"</?(\w+)>")
_LIKE_A_TOKEN = re.compile(r"<[|｜][^<>\n]{0,60}[|｜]>|<0x[0-9A-Fa-f]{2}>")
_KNOWN_TOKEN = re.compile("|".join(sorted(map(re.escape, TOKENS), key=len, reverse=True)))

# Default_Ignorable_Code_Point of Unicode, and what else shows nothing: C0 and C1 but tab and line
# feed, separators of lines, the blank Braille pattern, annotation, surrogates.
_INVISIBLE = (
    *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C)),
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x2028, 0x202E)),
    *((0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
_STARTS = [start for start, _ in _INVISIBLE]


def is_invisible(letter: str) -> bool:
    """Whether a code point can carry text that nobody sees, or change how other text is shown."""
    at = bisect_right(_STARTS, ord(letter)) - 1
    return at >= 0 and ord(letter) <= _INVISIBLE[at][1]


def shape(prompt: Prompt) -> Shape:
    """A prompt without its quoted data: roles, and the lines that the renderer wrote."""
    return tuple((role, "\n".join(_frame(text))) for role, text in prompt)


def flaws(prompt: Prompt, harmless: Collection[Shape]) -> set[tuple[str, str]]:
    """Return what stored text has done to a prompt, each with the day of the note in that line.

    harmless: the shapes that harmless notes make. The day is "" for a line that quotes no note.
    """
    found: set[tuple[str, str]] = set()
    if shape(prompt) not in harmless:
        known = {line for each in harmless for _, text in each for line in text.split("\n")}
        strange = [line for _, text in shape(prompt) for line in text.split("\n")]
        extra = [line for line in strange if line not in known]
        found.add(("", f"quoting: not as with harmless notes; {ascii(extra)[:200]}"))
    frame = "\n".join(text for each in harmless for _, text in each)
    tags = "|".join(sorted(set(_TAG.findall(frame))))
    tag = re.compile(rf"<\s*/?\s*(?:{tags})\b", re.IGNORECASE) if tags else None
    for _, text in prompt:
        lines = text.split("\n")
        fence = max((len(run) for line in lines for run in _FENCE.findall(line)), default=0)
        numbers: list[str] = []
        for line in lines:
            data = quoted(line)
            day = day_of(data)
            found |= {(day, flaw) for flaw in _unsafe(line)}
            if data is None:
                continue
            if tag is not None and (like := tag.search(line)):
                found.add((day, f"quoting: like a tag of the frame: {_around(line, like.start())}"))
            if fence and "`" * fence in line:
                at = line.index("`" * fence)
                found.add((day, f"quoting: a fence within: {_around(line, at)}"))
            if "n" in data:
                numbers.append(data["n"])
        if numbers != [str(number + 1) for number in range(len(numbers))]:
            found.add(("", f"quoting: notes are numbered {numbers}"))
    return found


def unsafe_text(prompt: Prompt) -> list[str]:
    """Return the tokens of chat templates and the invisible code points in a prompt."""
    return sorted({flaw for _, text in prompt for flaw in _unsafe(text)})


def _unsafe(text: str) -> set[str]:
    found = {f"invisible: U+{ord(letter):04X}" for letter in set(text) if is_invisible(letter)}
    for pattern in (_KNOWN_TOKEN, _LIKE_A_TOKEN):
        found |= {f"token: {token!a}" for token in pattern.findall(text)}
    return found


def days(prompt: Prompt) -> set[str]:
    """The days of the notes that a prompt quotes."""
    return {day_of(quoted(line)) for _, text in prompt for line in text.split("\n")} - {""}


def day_of(data: Mapping[str, Any] | None) -> str:
    """The day of the note that a line quotes, "" if it quotes none."""
    held = data or {}
    for inner in (held, held.get("new"), held.get("turn"), held.get("just before")):
        if isinstance(inner, dict) and (day := inner.get("time") or inner.get("on")):
            return str(day)[:10]
    return ""


def quoted_notes(prompt: Prompt) -> int:
    """How many lines of a prompt are quoted data."""
    return sum(quoted(line) is not None for _, text in prompt for line in text.split("\n"))


def quoted(line: str) -> dict[str, Any] | None:
    """What a line of a packed note, or one that is a JSON object with each key once, quotes."""
    if packed := LINE.fullmatch(line):
        return {name: value for name, value in packed.groupdict().items() if value is not None}
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line, object_pairs_hook=_once)
    except ValueError:
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def _frame(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        if quoted(line) is None:
            lines.append(_FENCE.sub("```", line) if line.startswith("```") else line)
        elif not lines or lines[-1] != "{…}":
            lines.append("{…}")
    return lines


def _around(line: str, at: int) -> str:
    return ascii(line[max(0, at - 20) : at + 20])
