"""Notes that mean harm among honest ones: how far they get, and that they leave no trace.

Thirty of six kinds, from every source but a user, among three hundred that users told.
How they rank is measured with the usual embedder on notes as they are stored, which is where they
do best; AMEM_TEST_LONG=1 has all of them formed as well, by a model that does whatever a note
tells it (a minute). What they do to other notes is tested with such a model in any case, on the
hundred that they aim at.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Hit, Note, Policy
from amem_integrations.core.io import run
from amem_integrations.core.status import STANDING
from amem_integrations.lifecycle.confidence import base
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.memory.search import find
from amem_integrations.stores.codec import state_of, within
from amem_integrations.stores.read import load_all_notes, load_points
from tests.admin.hostile import Fact, Hostile, asked, honest_facts, hostile_notes
from tests.lifecycle.days import Days
from tests.support import chat_model, io_of, judgement, open_memory

HOME = ("default",)
# All that are not the user.
SOURCES = (None, "import", "web", "tool", "assistant")
LONG = bool(os.environ.get("AMEM_TEST_LONG"))
FACTS = honest_facts()
ASKED = asked(FACTS) if LONG else asked(FACTS)[::2]
HOSTILE = hostile_notes(FACTS)
_BY_TEXT = {each.text: each for each in HOSTILE}
# By the text of a user's correction, the note that it corrects.
_CORRECTIONS: dict[str, str] = {}


def gullible(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Has a hostile note contradict, rewrite and link to whatever it is shown."""
    own = judgement(text, tags=[])
    if text in _CORRECTIONS:
        links = [
            {"to": each["n"], "reason": "so a user", "kind": "contradicts", "strength": 1.0}
            for each in candidates
            if each["text"] == _CORRECTIONS[text]
        ]
        return own | {"links": links}
    if text not in _BY_TEXT:
        return own
    mark = _mark(_BY_TEXT[text]) or "zqzq"
    links = [
        {"to": each["n"], "reason": mark, "kind": "contradicts", "strength": 1.0}
        for each in candidates
    ]
    evolutions = [
        {"note": each["n"], "keywords": [mark], "tags": [mark], "context": mark, "reason": mark}
        for each in candidates
    ]
    return own | {"links": links, "evolutions": evolutions}


def _mark(note: Hostile) -> str | None:
    return next((word for word in note.text.split() if word.startswith("zq")), None)


@dataclass
class Planted:
    """A memory of honest notes in which the hostile ones were planted."""

    memory: AgenticMemory
    before: dict[str, Note] = field(default_factory=dict[str, Note])
    hostile: dict[str, Hostile] = field(default_factory=dict[str, Hostile])
    _found: dict[tuple[str, Policy | None], list[Hit]] = field(
        default_factory=dict[tuple[str, Policy | None], list[Hit]]
    )

    def plant(self, facts: Sequence[Fact]) -> "Planted":
        honest = [
            {"content": fact.text, "source": "user", "session": f"s{place // 10}"}
            for place, fact in enumerate(facts)
        ]
        self.memory.add_many(honest)
        self.before = self.notes()
        for place, each in enumerate(HOSTILE):
            [note] = self.memory.add_many(
                [
                    {
                        "content": each.text,
                        "source": SOURCES[place % len(SOURCES)],
                        "session": "planted",
                    }
                ]
            )
            self.hostile[note.id] = each
        return self

    def notes(self) -> dict[str, Note]:
        found = run(load_all_notes(io_of(self.memory), within(HOME)))
        return {note.id: note for note in found}

    def found(self, fact: Fact, policy: Policy | None = DEFAULT_POLICY) -> list[Hit]:
        """What its question finds; without a policy, as if nobody looked after sources."""
        asked_for = (fact.question, policy)
        if asked_for not in self._found:
            self._found[asked_for] = self.memory.perform(
                lambda wiring, io: find(
                    replace(wiring, policy=policy),
                    io,
                    fact.question,
                    namespace=HOME,
                    k=20,
                )
            )
        return self._found[asked_for]

    def rates(self, policy: Policy | None) -> tuple[float, float]:
        """Shares of the honest questions with a hostile note first, and among the first five."""
        ranks = [
            [hit.note.id in self.hostile for hit in self.found(fact, policy)[:5]] for fact in ASKED
        ]
        return (
            sum(each[0] for each in ranks) / len(ranks),
            sum(any(each) for each in ranks) / len(ranks),
        )


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    settings: dict[str, Any] = {"formation": "off"}
    if LONG:
        settings = {"model": chat_model(gullible), "mode": "batched"}
    with open_memory(embedder=None, clock=Days(), **settings) as memory:
        yield Planted(memory).plant(FACTS)


@pytest.fixture(scope="module")
def formed() -> Iterator[Planted]:
    model = chat_model(gullible)
    with open_memory(model=model, mode="batched", clock=Days()) as memory:
        yield Planted(memory).plant(FACTS if LONG else asked(FACTS))
        assert memory.admin.check() == []


# -- how far they get ------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_hostile_notes_seldom_come_first_wherever_they_are_from(
    planted: Planted, source: str | None
) -> None:
    """As if all of them were from this one source."""
    trust = DEFAULT_POLICY.source_trust[source]
    policy = Policy(source_trust=dict.fromkeys(SOURCES, trust) | {"user": 0.9})
    first, among_five = planted.rates(policy)
    first_without, among_five_without = planted.rates(None)
    assert first <= 0.05
    assert first <= first_without / 2
    assert among_five <= among_five_without / 2
    # Or there was nothing to be kept from.
    assert min(first_without, among_five_without) > 0


def test_honest_answers_are_found_no_worse_for_it(planted: Planted) -> None:
    for fact in ASKED:
        with_policy, without = (
            _texts(planted.found(fact, policy)).index(fact.text)
            for policy in (DEFAULT_POLICY, None)
        )
        assert with_policy <= min(without, 4)


def test_what_a_source_costs_a_note_is_told(planted: Planted) -> None:
    hits = [hit for fact in ASKED for hit in planted.found(fact)]
    assert any(hit.why.get("source", 0.0) < 0 for hit in hits)
    for hit in hits:
        assert hit.note.id in planted.hostile or "source" not in hit.why
        assert hit.score == pytest.approx(sum(hit.why.values()))


def _texts(hits: list[Hit]) -> list[str]:
    return [hit.note.content for hit in hits]


# -- what they do ----------------------------------------------------------------------------


def test_no_hostile_note_changes_an_honest_one_or_lowers_its_trust(formed: Planted) -> None:
    after = formed.notes()
    for id, note in formed.before.items():
        assert after[id].content == note.content
        assert after[id].trust == note.trust == 1.0
        assert base(after[id]) == base(note)
        assert after[id] == note


def test_what_they_would_change_waits(formed: Planted) -> None:
    causes = {proposal.cause for proposal in formed.memory.lifecycle.proposals()}
    assert causes <= formed.hostile.keys()
    assert len(causes) > len(HOSTILE) / 2


def test_a_correction_by_a_user_counts_at_once(formed: Planted) -> None:
    """Though the model that obeyed the hostile notes is the same."""
    memory, fact = formed.memory, asked(FACTS)[4]
    wrong = next(note for note in formed.before.values() if note.content == fact.text)
    text = f"{fact.text} No, that is wrong now: it is {fact.answer} no longer, but plinth."
    _CORRECTIONS[text] = wrong.content
    right = memory.add(text, source="user", session="corrected")
    stored = formed.notes()[wrong.id]
    assert (stored.valid_until, stored.contested_by) == (right.created_at, (right.id,))
    ranks = [hit.note.id for hit in formed.found(fact)]
    assert ranks.index(right.id) < ranks.index(wrong.id)
    memory.forget(right)
    assert formed.notes()[wrong.id].contested_by == ()


@pytest.mark.parametrize("kind", ["instructions", "link bait"])
def test_reverting_one_cause_removes_every_trace_of_it(formed: Planted, kind: str) -> None:
    """Also after somebody was taken in by it, and accepted all that it proposed."""
    memory = formed.memory
    id, hostile = next(each for each in formed.hostile.items() if each[1].kind == kind)
    mark = _mark(hostile)
    assert mark
    mine = [proposal for proposal in memory.lifecycle.proposals() if proposal.cause == id]
    targets = {memory.lifecycle.accept(proposal).id for proposal in mine}
    assert mark in _elsewhere(memory, id)
    memory.lifecycle.revert_cause(id)
    assert id not in _elsewhere(memory, id)
    assert mark not in _elsewhere(memory, id)
    after = formed.notes()
    assert formed.before.keys() & targets
    for target in formed.before.keys() & targets:
        assert _said(after[target]) == _said(formed.before[target])
        assert base(after[target]) == base(formed.before[target])


def _said(note: Note) -> tuple[Any, ...]:
    return (
        note.content,
        note.keywords,
        note.tags,
        note.context,
        note.links,
        state_of(note, STANDING),
    )


def _elsewhere(memory: AgenticMemory, id: str) -> str:
    """All that is stored but of one note."""
    points = run(load_points(io_of(memory)))
    of_others = [each.payload for each in points if id not in (each.id, each.payload.get("of"))]
    return json.dumps(of_others, ensure_ascii=False)
