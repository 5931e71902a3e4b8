"""Contradicted by some, evolved by others, formed anew: taking one of them out leaves the rest."""

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
from amem_integrations.stores.codec import micros, state_of
from tests.formation.stories import Story
from tests.revisions.test_retract_any_story import Teller

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def by(name: str, day: int) -> Note:
    made = make_note(name, namespace="n", now=NOW, occurred_at=NOW + timedelta(days=day))
    return replace(made, id=name)


NOTES = {name: by(name, day) for name, day in (("ann", 3), ("bob", 1), ("cid", 2), ("dan", 4))}
SINCE = {name: micros(note.occurred_at or NOW) for name, note in NOTES.items()}


class Contesting(Teller):
    """A teller in whose stories notes are contradicted, too."""

    def contest(self) -> None:
        story, cause = self.story, NOTES[self.draw(st.sampled_from(sorted(NOTES)))]
        settled = self.draw(st.booleans())
        story.note = contradicted(story.note, cause, NOW, "x", settled=settled)
        assert story.note.revision is not None
        story.chain.append(story.note.revision)


@st.composite
def stories(draw: st.DrawFn, events: Sequence[str]) -> Story:
    teller = Contesting(draw(st.data()))
    for event in draw(st.lists(st.sampled_from(events), max_size=7)):
        getattr(teller, event)()
    return teller.story


anybody = st.sampled_from(sorted(NOTES))


def left_of(story: Story, gone: str) -> Story:
    since = {name: at for name, at in SINCE.items() if name != gone}
    return Story(*without(story.note, story.chain, gone, since))


@settings(max_examples=100)
@given(stories(["contest"]), anybody)
def test_a_note_held_until_the_first_of_those_that_are_left(story: Story, gone: str) -> None:
    left = left_of(story, gone)
    causes = {each.cause for each in story.chain if each.kind != "formed"} - {gone}
    if left.note.status is not Status.RAW:
        expected = min((NOTES[name].occurred_at or NOW for name in causes), default=None)
        assert left.note.valid_until == expected
    assert gone not in left.note.contested_by


@settings(max_examples=100)
@given(stories(["contest", "contest", "evolve", "form"]), anybody)
def test_the_history_that_is_left_leads_to_how_the_note_stands(story: Story, gone: str) -> None:
    left = left_of(story, gone)
    for name in STANDING:
        changes = [each.changes[name] for each in left.chain if name in each.changes]
        assert all(one.after == next_.before for one, next_ in pairwise(changes))
        now: Any = state_of(left.note, STANDING)[name]
        assert not changes or changes[-1].after == now


@settings(max_examples=100)
@given(stories(["contest", "contest", "evolve", "form", "update"]), anybody)
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
