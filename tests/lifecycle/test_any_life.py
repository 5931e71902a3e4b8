"""Whatever the lifecycle did to notes, in any order: undone in turn, they are equal again.

Equal but for what only counts: version, revision, `updated_at`, `life`, and the weights of links.
AMEM_TEST_EXAMPLES=200 tries more stories.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from amem_integrations import AgenticMemory, Note, Policy, Status
from amem_integrations.core.io import run
from amem_integrations.core.status import NEW
from amem_integrations.lifecycle.audits import audit
from amem_integrations.lifecycle.consolidation import Consolidation
from amem_integrations.revisions.proposals import contest
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load_all_notes
from tests.lifecycle.days import START, Days, Lived
from tests.support import chat_model, io_of, judgement, open_memory, wiring_of

EXAMPLES = int(os.environ.get("AMEM_TEST_EXAMPLES", "6"))
# So that one use is enough for a co-use link, two occasions for a tier, two conflicts for an audit.
POLICY = Policy(co_use_sessions=1, occasions_to_mid=2, audit_after_in_a_row=2, audit_after=2)
TEXTS = ("The redis cache holds 512 entries.",) * 2 + (
    "Memcached instead of redis is an option.",
    "The violin lesson is on Tuesday.",
)
_runs = count()

Undo = Callable[[], object]


def judge(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Understands what is honest, and has gossip change and contradict whatever it is shown."""
    if not text.startswith("Gossip"):
        return judgement(text)
    links = [
        {"to": each["n"], "reason": "gossip", "kind": "contradicts", "strength": 0.9}
        for each in candidates
    ]
    evolutions = [
        {"note": each["n"], "keywords": ["gossip"], "tags": [], "context": "Gossip.", "reason": ""}
        for each in candidates
    ]
    return judgement(text, links=links, evolutions=evolutions)


class Story(Lived):
    """A namespace of four notes, and all that the lifecycle can do to them."""

    def __init__(self, memory: AgenticMemory, days: Days) -> None:
        super().__init__(memory, days, f"story{next(_runs)}")
        self.days.now = max(self.days.now, START)
        self.ids = [
            self.add(text, key=f"note{place}", source="user", session=f"s{place}")
            for place, text in enumerate(TEXTS)
        ]

    def notes(self) -> dict[str, Note]:
        found = run(load_all_notes(io_of(self.memory), within((self.namespace,))))
        return {note.id: note for note in found}

    def equals(self) -> list[Note]:
        """The four as they have to be equal again."""
        held = self.notes()
        return [_uncounted(held[id]) for id in self.ids]

    def back(self) -> Undo:
        """Undoes what happens from now on, note by note, as `revert` does."""
        before = {id: note.version for id, note in self.notes().items()}

        def undo() -> None:
            for id, version in before.items():
                history = self.memory.history(id, namespace=self.namespace)
                if any(each.version > version and each.changes for each in history):
                    self.memory.revert(id, namespace=self.namespace, to_version=version)

        return undo

    # -- what can happen: each returns what undoes it, or None where there is nothing to do ----

    def helped(self, one: int, other: int) -> Undo | None:
        """Used together with success, and maintained: counters, weights, co-use links, tiers."""
        undo = self.back()
        self.use(*dict.fromkeys((self.ids[one], self.ids[other])), query="redis", days=3)
        self.maintain()
        return undo

    def misled(self, one: int, other: int) -> Undo | None:
        """Reported to be wrong, which may put it under audit."""
        undo = self.back()
        self.use(self.ids[one], outcome="conflict")
        self.maintain()
        return undo

    def wore_out(self, one: int, other: int) -> Undo | None:
        """A link that is too weak is pruned."""
        if one == other or self.note(self.ids[one]).status is not Status.FORMED:
            return None
        undo = self.back()
        self.link(self.ids[one], self.ids[other], 0.02, "co-use", "co-used")
        self.maintain(days=1)
        return undo

    def superseded(self, one: int, other: int) -> Undo | None:
        """The caller says that one note takes the place of the other."""
        note = self.note(self.ids[one])
        if one == other or note.status is Status.ARCHIVED:
            return None
        undo = self.back()
        said: dict[str, Any] = {"session": note.session, "source": note.source}
        self.add(note.content, key=note.key, supersedes=self.ids[other], **said)
        return undo

    def contested(self, one: int, other: int) -> Undo | None:
        """A note corrects the other, and nobody settled that."""
        if one == other:
            return None
        undo = self.back()
        self.link(self.ids[one], self.ids[other], 0.9, "corrects", "co-used")
        settings = wiring_of(self.memory).settings
        run(
            contest(
                io_of(self.memory),
                self.note(self.ids[one]),
                believe=settings.believe,
                trust_gap=settings.trust_gap,
                analyst=settings.analyst_name,
                ledger=settings.ledger,
            )
        )
        return undo

    def audited(self, one: int, other: int) -> Undo | None:
        undo = self.back()
        run(audit(io_of(self.memory), self.note(self.ids[one]), "for a test"))
        return undo

    def resolved(self, one: int, other: int) -> Undo | None:
        note = self.note(self.ids[one])
        if note.status is not Status.QUARANTINED and not note.contested_by:
            return None
        undo = self.back()
        self.memory.lifecycle.resolve(note, "keep" if other % 2 else "retire")
        return undo

    def archived(self, one: int, other: int) -> Undo | None:
        note = self.note(self.ids[one])
        if note.status in (Status.ARCHIVED, Status.RAW):
            return None
        self.memory.lifecycle.archive(note)
        return lambda: self.memory.lifecycle.restore(note)

    def restored(self, one: int, other: int) -> Undo | None:
        note = self.note(self.ids[one])
        if note.status is not Status.ARCHIVED:
            return None
        undo = self.back()
        self.memory.lifecycle.restore(note)
        return undo

    def consolidated(self, one: int, other: int) -> Undo | None:
        """What says the same is merged."""
        undo = self.back()
        plan = self.memory.lifecycle.consolidate(self.namespace, similarity=0.1)
        wanted = Consolidation(plan.namespace, merges=plan.merges, versions=plan.versions)
        return undo if self.memory.lifecycle.apply(wanted) else None

    def gossiped(self, one: int, other: int) -> Undo | None:
        """A note that changes others at once, or has to wait, as it is believed; taken back."""
        source = "user" if one % 2 else None
        id = self.add(f"Gossip on redis and the violin, part {next(_runs)}.", source=source)
        return lambda: self.memory.lifecycle.revert_cause(id, namespace=self.namespace)

    def accepted(self, one: int, other: int) -> Undo | None:
        waiting = self.memory.lifecycle.proposals(self.namespace)
        if not waiting or self.note(waiting[0].target).status is not Status.FORMED:
            return None
        undo = self.back()
        self.memory.lifecycle.accept(waiting[0])
        return undo

    def rejected(self, one: int, other: int) -> Undo | None:
        waiting = self.memory.lifecycle.proposals(self.namespace)
        if waiting:
            self.memory.lifecycle.reject(waiting[0])
        return None


STEPS = (
    Story.helped,
    Story.misled,
    Story.wore_out,
    Story.superseded,
    Story.contested,
    Story.audited,
    Story.resolved,
    Story.archived,
    Story.restored,
    Story.consolidated,
    Story.gossiped,
    Story.accepted,
    Story.rejected,
)
_steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 3), st.integers(0, 3)),
    min_size=1,
    max_size=7,
)


def _uncounted(note: Note) -> Note:
    links = tuple(
        replace(link, weight=1.0, used_at=None) for link in sorted(note.links, key=_place)
    )
    return replace(
        note, version=0, revision=None, updated_at=note.created_at, life=NEW, links=links
    )


def _place(link: Any) -> tuple[str, str]:
    return link.to, link.kind


@pytest.fixture(scope="module")
def days() -> Days:
    return Days()


@pytest.fixture(scope="module")
def memory(days: Days) -> Iterator[AgenticMemory]:
    with open_memory(model=chat_model(judge), lifecycle=POLICY, clock=days) as opened:
        yield opened


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    # The same few in every run of the suite; the long form looks for new ones.
    derandomize="AMEM_TEST_EXAMPLES" not in os.environ,
    # Opened once: an example takes a namespace, and needs nothing else that is new.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate, Phase.shrink] if EXAMPLES > 50 else [Phase.generate],
)
@given(steps=_steps)
def test_whatever_the_lifecycle_did_is_undone_in_turn(
    memory: AgenticMemory, days: Days, steps: list[tuple[Any, int, int]]
) -> None:
    story = Story(memory, days)
    before = story.equals()
    undos: list[Undo] = []
    for step, one, other in steps:
        if undo := step(story, one, other):
            undos.append(undo)
        assert memory.admin.check() == []
    for undo in reversed(undos):
        undo()
        assert memory.admin.check() == []
    assert story.equals() == before
    memory.admin.forget_namespace(story.namespace)
