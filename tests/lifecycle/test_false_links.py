"""Links that a model made up die out by themselves; those that are of use stay.

The model links a new note with what it belongs with, and just as surely with something else, so
that three of ten links are false. Then the memory is used for a year and a bit, a question on every
matter each third week, and whoever asks says what of the found notes helped. Nobody says of a
link that it is false: it dies because its notes are of no use together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Link
from amem_integrations.core.io import run
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load_all_notes
from tests.lifecycle.days import PRUNING, Days
from tests.support import chat_model, io_of, judgement, open_memory

HOME = "links"
USES = 20
DAYS_BETWEEN = 21
MATTERS = {
    "orchard": "apples pears grafting pruning cider blossom",
    "harbour": "cranes tide pilots mooring customs ferry",
    "observatory": "comet mirror dome aperture spectrum night",
    "bakery": "oven sourdough flour baguette crust yeast",
    "railway": "signal points sleeper timetable freight shunting",
}
TEXTS = [
    (matter, f"The {matter} has news of {word}, said the {matter} keeper at the {matter}.")
    for place in range(6)
    for matter, words in MATTERS.items()
    for word in [words.split()[place]]
]
_MATTER = {text: matter for matter, text in TEXTS}


@dataclass
class Model:
    """Links to two notes of one matter, and three times in ten to one of another."""

    true: int = 0
    false: int = 0

    def __call__(self, text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        matter = _MATTER[text]
        own = [each for each in candidates if _MATTER[each["text"]] == matter][:2]
        others = [each for each in candidates if _MATTER[each["text"]] != matter]
        links = own
        if others and self.false < 0.3 * (self.true + len(own) + self.false):
            links = [*own, others[0]]
            self.false += 1
        self.true += len(own)
        return judgement(
            text,
            tags=[matter],
            links=[
                {"to": each["n"], "reason": "so it seems", "kind": "related", "strength": 0.9}
                for each in links
            ],
        )


@dataclass
class Lived:
    before: list[tuple[bool, Link]]
    after: list[tuple[bool, Link]]
    memory: AgenticMemory

    def kept(self, *, true: bool) -> float:
        """The share of the links of a kind that are there still."""
        made = {(link.source, link.to) for is_true, link in self.before if is_true is true}
        left = {(link.source, link.to) for _, link in self.after}
        return len(made & left) / len(made)


def links_of(memory: AgenticMemory) -> list[tuple[bool, Link]]:
    """Every link, and whether its notes belong together."""
    notes = {note.id: note for note in run(load_all_notes(io_of(memory), within((HOME,))))}
    return [
        (_MATTER[note.content] == _MATTER[notes[link.to].content], link)
        for note in notes.values()
        for link in note.outgoing
    ]


@pytest.fixture(scope="module")
def lived() -> Iterator[Lived]:
    days = Days()
    model = chat_model(Model(), model_name="dreamer")
    with open_memory(model=model, lifecycle=PRUNING, clock=days, neighbours=8) as memory:
        for place, (_, text) in enumerate(TEXTS):
            memory.add(text, namespace=HOME, session=f"s{place % 5}", source="user")
        before = links_of(memory)
        for use in range(USES):
            days += DAYS_BETWEEN
            for matter in MATTERS:
                question = f"What is new at the {matter}?"
                hits = memory.search(question, namespace=HOME, k=6)
                helped = [hit for hit in hits if _MATTER[hit.note.content] == matter]
                memory.lifecycle.feedback(helped, query=question, session=f"use{use}")
            if use % 2:
                memory.lifecycle.maintain(HOME)
        yield Lived(before, links_of(memory), memory)
        assert memory.admin.check() == []


def test_three_of_ten_links_are_false_to_begin_with(lived: Lived) -> None:
    false = sum(not is_true for is_true, _ in lived.before)
    assert false / len(lived.before) == pytest.approx(0.3, abs=0.02)
    assert false >= 12


def test_after_twenty_uses_the_false_links_are_pruned_and_the_true_ones_are_not(
    lived: Lived,
) -> None:
    assert lived.kept(true=False) <= 0.1
    assert lived.kept(true=True) >= 0.9
