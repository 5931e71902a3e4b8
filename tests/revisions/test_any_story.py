"""Whatever happened to a note: taking one cause out of it leaves nothing of that one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations.core.note import Note, Status, make_note
from amem_integrations.core.status import STANDING
from amem_integrations.revisions.contradiction import contradicted
from amem_integrations.revisions.replay import without
from amem_integrations.stores.codec import link_json, micros, state_of
from tests.formation.stories import FIELDS, Story

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CAUSES = ("ann", "bob", "cid", "dan")


def by(name: str, day: int) -> Note:
    made = make_note(name, namespace="n", now=NOW, occurred_at=NOW + timedelta(days=day))
    return replace(made, id=name)


NOTES = {name: by(name, day) for name, day in zip(CAUSES, (3, 1, 2, 4), strict=True)}
SINCE = {name: micros(note.occurred_at or NOW) for name, note in NOTES.items()}


class Teller:
    """Makes up a story. A judge writes what it likes, out of all that it can read."""

    def __init__(self, data: st.DataObject) -> None:
        self.story = Story()
        self.draw = data.draw
        self.count = 0
        self.story.formed(*self._words("self"), context=self._word("self"), **self._light())

    def _word(self, cause: str) -> str:
        self.count += 1
        return f"{cause}{self.count}"

    def _words(self, cause: str) -> tuple[str, ...]:
        return tuple(self._word(cause) for _ in range(self.draw(st.integers(1, 2))))

    def _light(self) -> dict[str, Any]:
        others = st.lists(st.sampled_from(CAUSES), unique=True, max_size=2)
        return {"sources": self.draw(others), "links": self.draw(others)}

    def _visible(self) -> list[str]:
        note = self.story.note
        return [*note.keywords, *note.tags, *note.context.split()]

    def _some(self, words: Sequence[str]) -> list[str]:
        return [word for word in words if self.draw(st.booleans())]

    def evolve(self) -> None:
        cause = self.draw(st.sampled_from(CAUSES))
        if self.story.note.status is not Status.FORMED:
            return
        after: dict[str, Any] = {}
        for name in ("keywords", "tags"):
            if self.draw(st.booleans()):
                # New words, and old ones that it read anywhere on the note.
                read = dict.fromkeys(self._some(getattr(self.story.note, name)))
                if self.draw(st.booleans()):
                    read |= dict.fromkeys(self._some(self._visible()))
                after[name] = (*read, self._word(cause))
        if self.draw(st.booleans()):
            after["context"] = " ".join([*self._some(self._visible()), self._word(cause)])
        if after:
            reason = " ".join(self._some(self._visible()))
            sources = self.draw(st.lists(st.sampled_from(CAUSES), unique=True, max_size=1))
            self.story.evolved(cause, sources=sources, reason=reason, **after)

    def update(self) -> None:
        self.story.updated(f"text {self._word('self')}")

    def form(self) -> None:
        if self.story.note.status is Status.FORMED:
            return
        self.story.note = replace(self.story.note, status=Status.RAW)
        self.story.formed(*self._words("self"), context=self._word("self"), **self._light())

    def revert(self) -> None:
        versions = [each.version for each in self.story.chain]
        to_version = self.draw(st.none() | st.sampled_from([1, *versions[:-1]]))
        self.story.reverted(to_version)

    def contest(self) -> None:
        story, cause = self.story, NOTES[self.draw(st.sampled_from(CAUSES))]
        settled = self.draw(st.booleans())
        story.note = contradicted(story.note, cause, NOW, "x", settled=settled)
        assert story.note.revision is not None
        story.chain.append(story.note.revision)


@st.composite
def stories(draw: st.DrawFn, events: Sequence[str]) -> Story:
    teller = Teller(draw(st.data()))
    for event in draw(st.lists(st.sampled_from(events), max_size=6)):
        getattr(teller, event)()
    return teller.story


any_story = stories(["evolve", "evolve", "evolve", "update", "form", "revert"])
gone_of_any = st.sampled_from(CAUSES)


@settings(max_examples=60)
@given(any_story, gone_of_any)
def test_nothing_of_a_cause_is_left_anywhere(story: Story, gone: str) -> None:
    assert gone not in story.without(gone).text()


@settings(max_examples=60)
@given(stories(["evolve"]), gone_of_any)
def test_keywords_and_tags_of_other_causes_remain(story: Story, gone: str) -> None:
    left = story.without(gone)
    judged = [each for each in story.chain if gone in (each.cause, *each.sources)]
    taken_back: set[str] = set()
    for each in judged:
        for change in each.changes.values():
            before, after = (
                set(value.split() if isinstance(value, str) else map(str, value))
                for value in (change.before, change.after)
            )
            taken_back |= after - before
    if left.note.status is Status.FORMED:
        assert set(story.note.keywords) - taken_back <= set(left.note.keywords)
        assert set(story.note.tags) - taken_back <= set(left.note.tags)


@settings(max_examples=60)
@given(any_story, gone_of_any)
def test_the_history_that_is_left_leads_to_the_note_that_is_left(story: Story, gone: str) -> None:
    left = story.without(gone)
    for name in (*FIELDS, "links"):
        changes = [each.changes[name] for each in left.chain if name in each.changes]
        assert all(one.after == next_.before for one, next_ in pairwise(changes))
        now = getattr(left.note, name)
        if name == "links":
            now = [link_json(link) for link in now]
        if changes:
            assert changes[-1].after == (list(now) if isinstance(now, tuple) else now)


@settings(max_examples=50)
@given(any_story, gone_of_any)
def test_taking_back_twice_changes_nothing_more(story: Story, gone: str) -> None:
    left = story.without(gone)
    assert left.without(gone) == left


# -- contradicted by some, evolved by others, formed anew ---------------------------------------


def left_of(story: Story, gone: str) -> Story:
    since = {name: at for name, at in SINCE.items() if name != gone}
    return Story(*without(story.note, story.chain, gone, since))


@settings(max_examples=50)
@given(stories(["contest"]), gone_of_any)
def test_a_note_held_until_the_first_of_those_that_are_left(story: Story, gone: str) -> None:
    left = left_of(story, gone)
    causes = {each.cause for each in story.chain if each.kind != "formed"} - {gone}
    if left.note.status is not Status.RAW:
        expected = min((NOTES[name].occurred_at or NOW for name in causes), default=None)
        assert left.note.valid_until == expected
    assert gone not in left.note.contested_by


@settings(max_examples=50)
@given(stories(["contest", "contest", "evolve", "form"]), gone_of_any)
def test_the_history_that_is_left_leads_to_how_the_note_stands(story: Story, gone: str) -> None:
    left = left_of(story, gone)
    for name in STANDING:
        changes = [each.changes[name] for each in left.chain if name in each.changes]
        assert all(one.after == next_.before for one, next_ in pairwise(changes))
        now: Any = state_of(left.note, STANDING)[name]
        assert not changes or changes[-1].after == now


@settings(max_examples=50)
@given(stories(["contest", "contest", "evolve", "form", "update"]), gone_of_any)
def test_taking_it_back_twice_changes_nothing_more(story: Story, gone: str) -> None:
    left = left_of(story, gone)
    assert left_of(left, gone) == left


def test_a_note_that_is_formed_anew_stays_contradicted_by_the_others() -> None:
    story = Story()
    story.formed("cache", sources=["ann"])
    story.note = contradicted(story.note, NOTES["bob"], NOW, "x", settled=True)
    assert story.note.revision is not None
    story.chain.append(story.note.revision)
    left = left_of(story, "ann")
    assert (left.note.status, left.note.valid_until) == (Status.RAW, NOTES["bob"].occurred_at)
    assert [each.kind for each in left.chain] == ["superseded"]
    assert left_of(left, "bob").note.valid_until is None
