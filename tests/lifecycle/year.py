"""A year of a small team, a session a fortnight: what they say, ask, and find to be wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from amem_integrations import AgenticMemory, Note
from tests.lifecycle.days import Days
from tests.support import judgement

HOME = "team"
SESSIONS = 26
CORRECTED_IN = 14
FORTNIGHT = 14
SPEAKERS = ("Ada", "Bram", "Chidi")

STABLE: Mapping[str, tuple[str, str]] = {
    "printer": ("Where is the colour printer?", "The colour printer stands on the third floor."),
    "violin": ("When is the violin lesson?", "The violin lesson is on Tuesday at five."),
    "database": ("Which database do we use?", "Our database is Postgres, hosted in Oslo."),
    "plumber": ("Who is our plumber?", "Our plumber is called Rosalyn Marsh."),
    "lunch": ("Where do we eat lunch?", "We eat lunch at the noodle bar by the canal."),
}
"""What stays as it is: a question, and what is said again and again."""

CORRECTED: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "release": (
        "When is the Borealis release date?",
        (
            "The Borealis release date is the fifth of June.",
            "June the fifth is the Borealis release date.",
            "The release date of Borealis: fifth of June.",
            "For the Borealis release, the date is June the fifth.",
        ),
        ("Borealis comes out in late September.", "Borealis is for late September."),
    ),
    "office": (
        "What is the address of the Lisbon office?",
        (
            "The address of the Lisbon office is Rua Augusta.",
            "Rua Augusta is the address of our Lisbon office.",
            "Lisbon office, address: Rua Augusta.",
            "The Lisbon office has the address Rua Augusta.",
        ),
        ("Lisbon moved to Praca da Figueira.", "Lisbon sits at Praca da Figueira."),
    ),
    "budget": (
        "How large is the travel budget this year?",
        (
            "The travel budget this year is nine thousand.",
            "Nine thousand is how large the travel budget is this year.",
            "This year the travel budget is nine thousand large.",
            "A travel budget of nine thousand this year.",
        ),
        ("Travel got cut to four hundred.", "Travel has four hundred left."),
    ),
}
"""What changes: a question, how the old is put in several sessions, and then the new."""

WRONG = "The canteen closes at four on Fridays."
ASKED_OF_WRONG = "When does the canteen close on Fridays?"
RIGHT_IN = 6
RIGHT = "The canteen closes at eight on Fridays."

_NOISE = (
    "Somebody asked about the {0} again in passing number{1}.",
    "Snow on the window sill, mood number{1}, tea got cold.",
)
_MATTERS = ("Borealis release date", "Lisbon office address", "travel budget this year")


@dataclass
class Year:
    """Ids of what was said: of each fact in order, of the noise, and of the wrong note."""

    days: Days
    stable: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    old: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    new: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    noise: list[str] = field(default_factory=list[str])
    wrong: str = ""
    corrected_at: dict[str, datetime] = field(default_factory=dict[str, datetime])
    most: int = 0
    """How many notes there were at hand after any maintenance, at most."""


def live(memory: AgenticMemory, days: Days, *, lifecycle: bool) -> Year:
    """The whole year. lifecycle: whether somebody reports what came of notes, and maintains."""
    year = Year(days)
    for session in range(SESSIONS):
        days += FORTNIGHT
        _session(memory, year, session)
        if lifecycle:
            _uses(memory, year, session)
            memory.lifecycle.maintain(HOME)
            if session % 6 == 5:
                memory.lifecycle.consolidate(HOME, dry_run=False)
            year.most = max(year.most, at_hand(memory))
    return year


def at_hand(memory: AgenticMemory) -> int:
    """How many notes a search may find."""
    hidden = ("archived", "quarantined")
    return sum(each.status not in hidden for each in memory.recent(namespace=HOME, limit=500))


def _session(memory: AgenticMemory, year: Year, session: int) -> None:
    def say(text: str, **more: Any) -> Note:
        year.days.now += timedelta(minutes=1)
        speaker = SPEAKERS[session % len(SPEAKERS)]
        about: dict[str, Any] = {"speaker": speaker, "session": f"s{session}", **more}
        return memory.add(text, namespace=HOME, source="user", occurred_at=year.days.now, **about)

    for place, (name, (_, text)) in enumerate(STABLE.items()):
        if session % 5 == place:
            year.stable.setdefault(name, []).append(say(text).id)
    for place, (name, (_, old, new)) in enumerate(CORRECTED.items()):
        turn, hits = divmod(session - place, 3)
        if hits == 0 and 0 <= turn < len(old):
            year.old.setdefault(name, []).append(say(old[turn]).id)
        turn, hits = divmod(session - CORRECTED_IN - place, 5)
        if hits == 0 and 0 <= turn < len(new):
            year.new.setdefault(name, []).append(say(new[turn]).id)
            year.corrected_at.setdefault(name, year.days.now)
    if session == RIGHT_IN - 1:
        year.wrong = say(WRONG).id
    if session == RIGHT_IN:
        say(RIGHT)
    for place, text in enumerate(_NOISE):
        matter = _MATTERS[session % len(_MATTERS)]
        year.noise.append(say(text.format(matter, 2 * session + place)).id)


def _uses(memory: AgenticMemory, year: Year, session: int) -> None:
    """What the team asks about; a note that states what is so helped."""
    day = f"s{session}"
    for place, (name, (question, text)) in enumerate(STABLE.items()):
        if session % 5 == (place + 2) % 5 and name in year.stable:
            hits = memory.search(question, namespace=HOME, k=5)
            used = [hit for hit in hits if hit.note.content == text]
            if used:
                memory.lifecycle.feedback(used, query=question, session=day)
    for name, (question, old, new) in CORRECTED.items():
        if session % 4 == 0 and name in year.old:
            hits = memory.search(question, namespace=HOME, k=5)
            stated = new if name in year.new else old
            used = [hit for hit in hits if hit.note.content in stated]
            if used:
                memory.lifecycle.feedback(used, query=question, session=day)
    if session >= RIGHT_IN:
        hits = memory.search(ASKED_OF_WRONG, namespace=HOME, k=5)
        wrong = [hit for hit in hits if hit.note.id == year.wrong]
        if wrong:
            memory.lifecycle.feedback(wrong, "conflict", query=ASKED_OF_WRONG, session=day)
        elif session % 4 == 2:
            right = [hit for hit in hits if hit.note.content == RIGHT]
            memory.lifecycle.feedback(right, query=ASKED_OF_WRONG, session=day)


# -- an analyst that knows what contradicts what ---------------------------------------------


def _said() -> dict[str, tuple[str, str]]:
    """By text, what it is about and which of the values it states."""
    said = {text: (name, "only") for name, (_, text) in STABLE.items()}
    for name, (_, old, new) in CORRECTED.items():
        said |= dict.fromkeys(old, (name, "old")) | dict.fromkeys(new, (name, "new"))
    return said | {WRONG: ("canteen", "old"), RIGHT: ("canteen", "new")}


_SAID = _said()


def analyst(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Links what is about one matter, and says of what is outdated that it is contradicted."""
    about, value = _SAID.get(text, ("small talk", ""))
    links: list[dict[str, Any]] = []
    for each in candidates:
        other, its = _SAID.get(str(each["text"]), ("", ""))
        if other == about and value:
            kind = "contradicts" if (value, its) == ("new", "old") else "same-matter"
            link = {"to": each["n"], "reason": f"both on the {about}", "strength": 0.9}
            links.append(link | {"kind": kind})
    return judgement(text, keywords=[about], tags=["team"], context="Team talk.", links=links)


# -- what is asked at the end ----------------------------------------------------------------


def found(memory: AgenticMemory, question: str, answers: Sequence[str], **how: Any) -> bool:
    """Whether one of the first five notes says one of the answers."""
    hits = memory.search(question, namespace=HOME, k=5, **how)
    return any(hit.note.content in answers for hit in hits)


def recall_on_corrected(memory: AgenticMemory) -> float:
    asked = [found(memory, question, new) for question, _, new in CORRECTED.values()]
    return sum(asked) / len(asked)


def recall_elsewhere(memory: AgenticMemory) -> float:
    asked = [found(memory, question, [text]) for question, text in STABLE.values()]
    asked.append(found(memory, ASKED_OF_WRONG, [RIGHT]))
    return sum(asked) / len(asked)
