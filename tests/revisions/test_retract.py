"""A note, and its history, as if another had never had a part in it.

Each cause writes words that nobody else writes, so that what is left of it can be found.
"""

from amem_integrations.core.note import Change, Status
from tests.formation.stories import Story


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


def test_a_note_whose_formation_was_undone_stays_plain() -> None:
    story = Story()
    story.formed("cache")
    story.evolved("gone", keywords=("redis",))
    story.reverted(to_version=1)
    left = story.without("gone")
    assert left.note.status is Status.PLAIN
    assert left.note.keywords == ()
