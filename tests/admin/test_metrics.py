"""The numbers of a namespace's health, each worked out by hand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from amem_integrations.admin.health import figures
from amem_integrations.admin.metrics import Metrics
from amem_integrations.core.note import Link, Note, Status, make_note, note_id
from amem_integrations.core.status import Life, Tier
from amem_integrations.lifecycle.confidence import confidence
from amem_integrations.lifecycle.policy import DEFAULT_POLICY as POLICY
from amem_integrations.revisions.change import revised
from amem_integrations.revisions.entry import Entry
from tests.lifecycle.days import START as NOW

DAY = timedelta(days=1)
GONE = note_id(("a",), "gone")


def made(key: str, text: str = "", *, days_ago: float = 0, to: str = "", **fields: Any) -> Note:
    """A formed note; to: the keys, a letter each, of the notes that it links to."""
    note = make_note(text or f"On {key}", namespace="a", key=key, now=NOW - days_ago * DAY)
    targets = (note_id(("a",), target) for target in to)
    links = tuple(Link(note.id, target, "both on it", NOW) for target in targets)
    return replace(note, **{"status": Status.FORMED, "links": links, **fields})


def changed(entry: Note | Entry, kind: str, cause: str, *, days_ago: float = 1) -> Entry:
    """The note after one more revision, which gives it a new context."""
    entry = entry if isinstance(entry, Entry) else Entry(entry)
    before = entry.note
    after = replace(before, context=f"{before.context} {kind}")
    after = revised(before, after, kind, cause, NOW - days_ago * DAY, "tests")
    return Entry(after, entry.revisions)


def used(clean: int, conflicting: int = 0, *, days_ago: float = 0) -> Life:
    return Life(clean=clean, conflicting=conflicting, used_at=NOW - days_ago * DAY)


def measured(*entries: Note | Entry) -> Metrics:
    metrics = Metrics(NOW, POLICY, str.isascii)
    for entry in entries:
        metrics.add(entry if isinstance(entry, Entry) else Entry(entry))
    return metrics


def test_without_notes_nothing_is_measured() -> None:
    shares = {figure.value for figure in figures(measured()) if figure.unit == "share"}
    assert shares == {None}


ARCHIVED, PLAIN, RAW = Status.ARCHIVED, Status.PLAIN, Status.RAW
FORMER = made("f", days_ago=2)
CAUSE = made("a")
NEW = made("a", days_ago=1)
MID, LONG = made("m", tier=Tier.MID, days_ago=90), made("l", tier=Tier.LONG)
REVISED = [
    changed(made("r", tier=Tier.MID, days_ago=90), "evolved", GONE),
    changed(made("s", tier=Tier.MID, days_ago=90), "evolved", GONE, days_ago=31),
]
TWICE = changed(changed(made("b"), "evolved", CAUSE.id), "evolved", CAUSE.id)
HALF_KNOWN = changed(changed(made("b"), "evolved", CAUSE.id), "evolved", GONE)
CONTESTED = changed(made("b", contested_by=(CAUSE.id,)), "contested", CAUSE.id)


@pytest.mark.parametrize(
    ("name", "value", "entries"),
    [
        ("links_per_note", 0.5, [made("a", to="b"), made("b", to="a"), made("c"), made("d")]),
        # Links to archived notes do not count.
        ("links_per_note", 0, [made("a", to="b"), made("b", status=ARCHIVED)]),
        ("orphans", 1, [made("a", to="b"), made("b", status=ARCHIVED)]),
        ("orphans", 0.5, [made("a", to="b"), made("b"), made("c"), made("d")]),
        ("orphans", 0, [made("a", to="b"), made("b"), made("c", status=PLAIN)]),
        ("duplicates", 0.5, [made(text, text) for text in ("Tea.", "the tea", "Tea!", "Tea?")]),
        ("foreign_script", 0.5, [made("a", "Tea"), made("b", "茶")]),
        ("oldest_wait", 48, [made(f"{days}", days_ago=days, status=RAW) for days in (1, 2)]),
        ("activity", 0.5, [made(f"{days}", life=used(1, days_ago=days)) for days in (29, 31)]),
        (
            "idle_mid",
            0.5,
            [
                made(f"{days}", days_ago=200, tier=Tier.MID, life=used(1, days_ago=days))
                for days in (59, 61)
            ],
        ),
        ("stability", 0.75, [*REVISED, MID, LONG, changed(made("d"), "evolved", GONE)]),
        # Upkeep does not change what a note says.
        ("stability", 1, [changed(MID, "tiered", GONE)]),
        ("stability", 1, [changed(MID, "pruned", GONE)]),
        ("stability", 1, [changed(MID, "co-used", GONE)]),
        ("stability", 1, [changed(MID, "formed", GONE)]),
        ("plasticity", 0.5, [NEW, changed(made("b", days_ago=50), "evolved", NEW.id), FORMER]),
        # Changes of the note itself, or of a newer one, do not count.
        ("plasticity", 0, [changed(FORMER, "updated", FORMER.id), NEW]),
        ("plasticity", 0, [FORMER, changed(NEW, "evolved", FORMER.id)]),
        ("consistency", 0.75, [made("a", life=used(2, 1)), made("b", life=used(1)), made("c")]),
        ("transparency", 1, [CAUSE, TWICE]),
        ("transparency", 0.5, [CAUSE, HALF_KNOWN]),
        ("traceability", 0.5, [CAUSE, CONTESTED, changed(made("c"), "superseded", GONE)]),
        ("contested", 1, [CAUSE, CONTESTED]),
    ],
)
def test_each_number_is_what_the_notes_add_up_to(
    name: str, value: float, entries: list[Note | Entry]
) -> None:
    assert measured(*entries).value(name) == value


def test_confidence_is_the_mean() -> None:
    notes = [made("a", days_ago=10), LONG]
    mean = sum(confidence(note, NOW, POLICY) for note in notes) / 2
    assert measured(*notes).confidence == pytest.approx(mean)


def test_a_change_before_a_gap_in_the_history_is_not_transparent() -> None:
    note = made("a")
    entry = changed(changed(changed(note, "updated", note.id), "updated", note.id), "x", note.id)
    assert measured(entry).transparency == 1
    assert measured(replace(entry, older=entry.older[:1])).transparency == 0.5


def test_an_archived_note_counts_as_a_cause_and_by_its_uses_only() -> None:
    archived = made("a", life=used(1), status=ARCHIVED)
    metrics = measured(archived, changed(made("b"), "evolved", archived.id))
    assert (metrics.transparency, metrics.consistency) == (1, 1)
    assert (metrics.activity, metrics.tiers.total()) == (0, 1)
