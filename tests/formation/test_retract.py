"""A note, and its history, as if another had never had a part in it.

Each cause writes words that nobody else writes, so that what is left of it can be found.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amem_integrations.formation.retract import without
from amem_integrations.formation.revise import revised
from amem_integrations.note import Change, Link, Note, Revision, Status, make_note
from amem_integrations.store.schema import link_from, link_json, revision_json

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FIELDS = ("content", "keywords", "tags", "context")


@dataclass
class Story:
    """A note and everything that ever happened to it."""

    note: Note = field(
        default_factory=lambda: make_note("The cache is full", namespace="n", now=NOW, key="k")
    )
    chain: list[Revision] = field(default_factory=list[Revision])

    def _then(
        self, kind: str, cause: str, sources: Sequence[str] = (), reason: str = "", **after: Any
    ) -> None:
        now = NOW + timedelta(seconds=self.note.version)
        changed = replace(self.note, **after)
        self.note = revised(self.note, changed, kind, cause, now, "x", tuple(sources), reason)
        assert self.note.revision is not None
        self.chain.append(self.note.revision)

    def formed(
        self,
        *keywords: str,
        context: str = "On memory.",
        tags: Sequence[str] = ("talk",),
        links: Sequence[str] = (),
        sources: Sequence[str] = (),
    ) -> None:
        made = tuple(Link(self.note.id, to, f"both like {to}", NOW) for to in links)
        self._then(
            "formed",
            self.note.id,
            sources,
            keywords=keywords or ("cache",),
            tags=tuple(tags),
            context=context,
            links=made,
            status=Status.FORMED,
        )

    def evolved(
        self, cause: str, *, sources: Sequence[str] = (), reason: str = "", **after: Any
    ) -> None:
        self._then("evolved", cause, sources, reason, **after)

    def updated(self, content: str) -> None:
        blank: dict[str, Any] = {"keywords": (), "tags": (), "context": "", "links": ()}
        self._then("updated", self.note.id, content=content, status=Status.RAW, **blank)

    def reverted(self, to_version: int | None = None) -> None:
        """As a caller does it: the last change, or all after a version."""
        newest = [each for each in reversed(self.chain) if each.changes]
        undone = newest[:1] if to_version is None else [r for r in newest if r.version > to_version]
        after: dict[str, Any] = {}
        for revision in undone:
            after |= {name: change.before for name, change in revision.changes.items()}
        for name in {"keywords", "tags"} & after.keys():
            after[name] = tuple(after[name])
        if "links" in after:
            after["links"] = tuple(link_from(self.note.id, link) for link in after["links"])
        if "status" in after:
            raw = after["status"] == Status.RAW
            after["status"] = Status.PARKED if raw else Status(after["status"])
        self._then("reverted", self.note.id, **after)

    def without(self, gone: str) -> "Story":
        return Story(*without(self.note, self.chain, gone))

    def text(self) -> str:
        """Everything that is stored of it."""
        note = self.note
        return json.dumps(
            [
                *(getattr(note, name) for name in FIELDS),
                *([link.to, link.reason] for link in note.links),
                *(revision_json(each) for each in self.chain),
            ],
            ensure_ascii=False,
        )


# -- one story a test ------------------------------------------------------------------------


def test_what_another_note_had_no_part_in_stays_as_it_is() -> None:
    story = Story()
    story.formed("cache", "lru", links=["a"])
    story.evolved("b", keywords=("cache", "lru", "redis"), context="On redis.")
    assert story.without("gone") == story


def test_an_evolution_is_undone() -> None:
    story = Story()
    story.formed("cache")
    before = story.note
    story.evolved("gone", keywords=("cache", "redis"), tags=("talk", "db"), context="On redis.")
    left = story.without("gone")
    assert (left.note.keywords, left.note.tags) == (before.keywords, before.tags)
    assert left.note.context == before.context
    assert left.note.status is Status.FORMED
    assert [each.kind for each in left.chain] == ["formed"]


def test_what_an_evolution_had_dropped_comes_back() -> None:
    story = Story()
    story.formed("cache", "lru")
    story.evolved("gone", keywords=("redis",))
    assert story.without("gone").note.keywords == ("cache", "lru")


def test_forgetting_the_first_of_two_causes_keeps_what_the_second_added() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("gone", keywords=("cache", "redis"), tags=("talk", "db"))
    story.evolved("later", keywords=("redis", "lru"), tags=("talk", "db", "policy"))
    left = story.without("gone")
    assert left.note.keywords == ("lru",)
    assert left.note.tags == ("talk", "policy")
    assert left.chain[-1].changes == {
        "keywords": Change(["cache"], ["lru"]),
        "tags": Change(["talk"], ["talk", "policy"]),
    }


def test_forgetting_the_second_of_two_causes_keeps_the_first() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("first", keywords=("cache", "lru"), context="On eviction.")
    story.evolved("gone", keywords=("redis",), context="On redis.")
    left = story.without("gone")
    assert left.note.keywords == ("cache", "lru")
    assert left.note.context == "On eviction."


def test_a_context_written_before_is_kept_and_one_written_after_is_not() -> None:
    story = Story()
    story.formed("cache", context="On memory.")
    story.evolved("first", context="On eviction.")
    story.evolved("gone", context="On redis.")
    story.evolved("later", context="On redis and policies.", keywords=("cache", "policy"))
    left = story.without("gone")
    assert left.note.context == "On eviction."
    assert left.note.keywords == ("cache", "policy")
    assert "redis" not in left.text()


def test_a_context_written_where_only_keywords_were_the_other_s_is_not_kept() -> None:
    story = Story()
    story.formed("cache", context="On memory.")
    story.evolved("gone", keywords=("cache", "redis"))
    story.evolved("later", context="On memory, known for redis.", reason="redis came up again")
    left = story.without("gone")
    assert left.note.context == "On memory."
    assert "redis" not in left.text()


def test_once_nothing_of_it_is_left_later_contexts_are_kept() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("gone", keywords=("cache", "redis"))
    story.evolved("tidy", keywords=("cache",))
    story.evolved("later", context="On eviction.", reason="evictions came up")
    left = story.without("gone")
    assert left.note.context == "On eviction."
    assert left.chain[-1].reason == "evictions came up"


def test_a_term_that_comes_back_through_what_it_wrote_does_not_stay() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("gone", keywords=("cache", "redis"), context="On redis.")
    story.evolved("tidy", keywords=("cache",))
    story.evolved("later", keywords=("cache", "redis", "policy"))
    assert story.without("gone").note.keywords == ("cache", "policy")


def test_a_term_that_others_had_before_stays() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("first", keywords=("cache", "redis"))
    story.evolved("tidy", keywords=("cache",))
    story.evolved("gone", keywords=("cache", "redis"))
    story.evolved("later", keywords=("cache", "redis", "lru"))
    left = story.without("gone")
    assert left.note.keywords == ("cache", "lru")
    assert [each.cause for each in left.chain[1:]] == ["first", "tidy", "later"]


def test_a_link_to_it_is_gone_from_the_note_and_from_its_history() -> None:
    story = Story()
    story.formed(links=["a", "gone", "b"])
    story.evolved("a", keywords=("cache", "lru"))
    left = story.without("gone")
    assert [link.to for link in left.note.links] == ["a", "b"]
    assert [link["to"] for link in left.chain[0].changes["links"].after] == ["a", "b"]
    assert "gone" not in left.text()
    assert left.note.keywords == ("cache", "lru")


def test_a_link_that_was_the_only_one_leaves_no_change_of_links() -> None:
    story = Story()
    story.formed(links=["gone"])
    left = story.without("gone")
    assert "links" not in left.chain[0].changes
    assert left.note.status is Status.FORMED


def test_a_note_formed_in_its_light_is_to_be_formed_anew() -> None:
    story = Story()
    story.formed("redis", context="On redis.", links=["a"], sources=["a", "gone"])
    story.evolved("b", keywords=("redis", "lru"))
    left = story.without("gone")
    assert left.note.status is Status.RAW
    assert (left.note.keywords, left.note.tags, left.note.context) == ((), (), "")
    assert left.note.links == ()
    assert left.note.content == story.note.content
    assert left.chain == []


def test_an_evolution_judged_in_its_light_is_undone_whoever_caused_it() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("b", sources=["gone", "c"], keywords=("cache", "redis"), reason="as gone says")
    left = story.without("gone")
    assert left.note.keywords == ("cache",)
    assert "gone" not in left.text()


def test_a_caller_s_update_after_it_was_formed_keeps_the_update() -> None:
    story = Story()
    story.formed("redis", context="On redis.", sources=["gone"])
    story.updated("The cache was emptied")
    left = story.without("gone")
    assert left.note == story.note
    assert [each.kind for each in left.chain] == ["updated"]
    assert left.chain[0].changes == {
        "content": Change("The cache is full", "The cache was emptied")
    }


def test_a_note_formed_again_without_it_stays_formed() -> None:
    story = Story()
    story.formed("redis", context="On redis.", sources=["gone"])
    story.updated("The cache was emptied")
    story.formed("emptied", context="On emptying.")
    left = story.without("gone")
    assert left.note == story.note
    assert "redis" not in left.text()


def test_its_text_does_not_come_back_with_a_reverted_later_change() -> None:
    story = Story()
    story.formed("cache", context="On memory.")
    story.evolved("gone", keywords=("cache", "redis"), context="On redis.")
    story.evolved("later", keywords=("cache", "lru"), context="On eviction.")
    story.reverted()
    assert story.note.context == "On redis."
    left = story.without("gone")
    assert (left.note.keywords, left.note.context) == (("cache",), "On memory.")
    assert "redis" not in left.text()


def test_its_text_does_not_come_back_when_its_undoing_was_undone() -> None:
    story = Story()
    story.formed("cache", context="On memory.")
    story.evolved("gone", keywords=("cache", "redis"), context="On redis.")
    story.reverted()
    story.reverted()
    assert "redis" in story.note.keywords
    left = story.without("gone")
    assert (left.note.keywords, left.note.context) == (("cache",), "On memory.")
    assert "redis" not in left.text()


def test_a_note_reverted_to_how_it_was_formed_in_its_light_is_to_be_formed_anew() -> None:
    story = Story()
    story.formed("redis", context="On redis.", sources=["gone"])
    story.evolved("b", keywords=("redis", "lru"))
    story.updated("The cache was emptied")
    story.formed("emptied", context="On emptying.")
    story.reverted(to_version=3)
    assert story.note.context == "On redis."
    left = story.without("gone")
    assert left.note.status is Status.RAW
    assert left.note.content == "The cache is full"
    assert left.chain == []


def test_a_revert_to_before_it_had_a_part_stays() -> None:
    story = Story()
    story.formed("cache", context="On memory.")
    story.evolved("first", keywords=("cache", "lru"))
    story.evolved("gone", keywords=("redis",), context="On redis.")
    story.reverted(to_version=2)
    left = story.without("gone")
    assert (left.note.keywords, left.note.context) == (("cache",), "On memory.")
    assert left.note.status is Status.FORMED
    assert left.chain[-1].changes == {"keywords": Change(["cache", "lru"], ["cache"])}


def test_a_note_whose_forming_was_undone_stays_parked() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("gone", keywords=("redis",))
    story.reverted(to_version=1)
    left = story.without("gone")
    assert left.note.status is Status.PARKED
    assert left.note.keywords == ()


# -- any story -------------------------------------------------------------------------------

CAUSES = ("ann", "bob", "cid", "dan")


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


@st.composite
def stories(draw: st.DrawFn, events: Sequence[str]) -> Story:
    teller = Teller(draw(st.data()))
    for event in draw(st.lists(st.sampled_from(events), max_size=6)):
        getattr(teller, event)()
    return teller.story


any_story = stories(["evolve", "evolve", "evolve", "update", "form", "revert"])
gone_of_any = st.sampled_from(CAUSES)


@settings(max_examples=100)
@given(any_story, gone_of_any)
def test_nothing_of_a_cause_is_left_anywhere(story: Story, gone: str) -> None:
    assert gone not in story.without(gone).text()


@settings(max_examples=100)
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


@settings(max_examples=100)
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


@settings(max_examples=50)
@given(any_story, gone_of_any)
def test_content_is_never_touched(story: Story, gone: str) -> None:
    assert story.without(gone).note.content == story.note.content
