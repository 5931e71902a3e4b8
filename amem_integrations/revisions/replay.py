"""A note and its history as if another note had never had a part in them.

Pure: retelling what happened, revision by revision, both as it was and as it would have been.
What the other wrote goes, and with it the sentences that were written where its words could
be read. `retract` reads the history, and writes what comes out of this.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.note import (
    CONTRADICTS,
    CORRECTS,
    REPEATS,
    Change,
    Link,
    Note,
    Revision,
    Status,
)
from amem_integrations.core.status import FIELDS as _STANDING
from amem_integrations.core.status import standing_from
from amem_integrations.revisions.contradiction import SUPERSEDED

_TERMS = ("keywords", "tags")
_UNDERSTOOD = (*_TERMS, "context")
_TEXTS = ("content", *_UNDERSTOOD)
_FIELDS = (*_TEXTS, "links", "status", *_STANDING)
_SET_ASIDE = (Status.ARCHIVED, Status.QUARANTINED)
_LASTING = (REPEATS, CORRECTS, CONTRADICTS)
# How a note stands does not rest on its having been formed; what caps its trust does.
_UNFORMED = tuple(name for name in _STANDING if name != "trust")


@dataclass(frozen=True)
class _Moment:
    """The fields of a note at one version, as they were and as they would have been.

    formed: the version at which it was formed in the other's light, if it rests on that.
    """

    was: dict[str, Any]
    would: dict[str, Any]
    formed: int | None = None

    @property
    def carries(self) -> bool:
        """Whether something of the other could be read on the note."""
        return any(self.was[name] != self.would[name] for name in _UNDERSTOOD)


def without(
    note: Note,
    chain: Sequence[Revision],
    gone: str,
    since: Mapping[str, int] | None = None,
    *,
    there: bool = False,
) -> tuple[Note, list[Revision]]:
    """The note, and its revisions, oldest first, as if `gone` had never had a part in them.

    Keywords and tags that others added or removed are added or removed again; links that `gone`
    brought are not kept. A context that
    was written while the note carried something of `gone` is not kept. A note that rests on a
    forming in the light of `gone` becomes raw, and its history ends before that, but for how it
    stands. So does one that was kept plain because it repeats `gone`. One that was set aside
    because of `gone` is back.
    since: from when on, in microseconds, what other notes say holds that contradict this one.
    there: `gone` is there as before, it was only misread; what a caller said of the two stands.
    """
    chain, brought = _unbrought([_unnamed(gone, revision, there) for revision in chain], gone)
    moment = _beginning(note, chain)
    past = [moment]
    written: list[str] = []
    clean: list[Revision] = []
    for revision in chain:
        before = _caught_up(moment, revision)
        if took_part(revision, gone) and not (there and revision.kind == SUPERSEDED):
            written += _new_texts(revision)
            formed = revision.version if revision.kind == "formed" else before.formed
            moment = _Moment(before.was | _changed(revision), before.would, formed)
        else:
            moment = _next(before, revision, past, written)
            if since and revision.cause in since and _differs(before, "valid_until"):
                moment.would["valid_until"] = _earlier(before, since[revision.cause])
            clean.append(_retold(revision, before, moment))
        past.append(moment)
    links = tuple(
        link
        for link in note.outgoing
        if link.to not in brought and (link.to != gone or (there and link.kind in _LASTING))
    )
    note = replace(note, **_standing(note, moment, gone))
    if moment.formed is not None:
        lasting = tuple(link for link in links if link.kind in _LASTING)
        lasting = tuple(link for link in lasting if not _was_formed(link, chain))
        # One whose own doings were undone waits for its caller, too.
        apart = note.status in _SET_ASIDE or note.status is Status.PLAIN
        status = note.status if apart else Status.RAW
        raw = note.evolve(keywords=(), tags=(), context="", links=lasting, status=status, trust=1.0)
        return replace(raw, attempts=0), list(_unformed(clean, moment.formed))
    if note.status is Status.PLAIN and any(
        link.to == gone and link not in links for link in note.outgoing
    ):
        # What it repeats is gone, so now it is the one to say it.
        return note.evolve(links=links, status=Status.RAW, attempts=0), clean
    changed = {name: moment.would[name] for name in _UNDERSTOOD if _differs(moment, name)}
    for name in changed.keys() & _TERMS:
        changed[name] = tuple(changed[name])
    return note.evolve(links=links, **changed), clean


def _unbrought(chain: Sequence[Revision], gone: str) -> tuple[list[Revision], set[str]]:
    """The revisions without the links that `gone` brought to the note, and where these lead.

    A forming is another matter: with it goes all that it made.
    """
    brought: set[str] = set()
    clean: list[Revision] = []
    for revision in chain:
        links = revision.changes.get("links")
        if links is not None and revision.kind != "formed":
            added = {each["to"] for each in links.after} - {each["to"] for each in links.before}
            if took_part(revision, gone):
                brought |= added
            else:
                brought -= added
                sides = (
                    [each for each in side if each["to"] not in brought]
                    for side in (links.before, links.after)
                )
                revision = replace(revision, changes={**revision.changes, "links": Change(*sides)})
        clean.append(revision)
    return clean, brought


def _was_formed(link: Link, chain: Sequence[Revision]) -> bool:
    """Whether a forming made the link, rather than a caller or `add_turn`."""
    for revision in reversed(chain):
        if change := revision.changes.get("links"):
            before, after = (
                {each["to"] for each in side} for side in (change.before, change.after)
            )
            if link.to in after - before:
                return revision.kind == "formed"
    return False


def _unformed(chain: Sequence[Revision], formed: int) -> Iterator[Revision]:
    """The revisions before a forming, and what the later ones say of how the note stands."""
    for revision in chain:
        if revision.version < formed:
            yield revision
            continue
        kept = {name: each for name, each in revision.changes.items() if name in _UNFORMED}
        status = revision.changes.get("status")
        if kept or (status is not None and status.after in _SET_ASIDE):
            yield replace(revision, changes=kept)


def _standing(note: Note, moment: _Moment, gone: str) -> dict[str, Any]:
    """The fields that say how the note stands, as they would be."""
    differ = {name: moment.would[name] for name in _STANDING if _differs(moment, name)}
    fields = standing_from(differ)
    if note.status in _SET_ASIDE and _differs(moment, "status"):
        fields["status"] = Status(moment.would["status"])
    contested: tuple[str, ...] = fields.get("contested_by", note.contested_by)
    fields["contested_by"] = tuple(id for id in contested if id != gone)
    if note.merged_into == gone:
        fields["merged_into"] = None
    return fields


def took_part(revision: Revision, gone: str) -> bool:
    """Whether `gone` brought the revision about, or its text was read for it."""
    return gone == revision.cause or gone in revision.sources


def _differs(moment: _Moment, name: str) -> bool:
    return moment.was[name] != moment.would[name]


def _beginning(note: Note, chain: Sequence[Revision]) -> _Moment:
    """Before the first revision: what each field was before it first changed."""
    first: dict[str, Any] = {
        "content": note.content,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
        "links": [],
        "status": str(note.status),
        **note.standing,
    }
    for revision in reversed(chain):
        first |= {name: change.before for name, change in revision.changes.items()}
    return _Moment(first, first)


def _caught_up(moment: _Moment, revision: Revision) -> _Moment:
    """The moment with what changed unrecorded, as a status does when a note is parked."""
    drifted = {
        name: change.before
        for name, change in revision.changes.items()
        if change.before != moment.was[name]
    }
    followed = {name: value for name, value in drifted.items() if not _differs(moment, name)}
    return replace(moment, was=moment.was | drifted, would=moment.would | followed)


def _changed(revision: Revision) -> dict[str, Any]:
    return {name: change.after for name, change in revision.changes.items()}


def _earlier(before: _Moment, since: int) -> int:
    """Until when the note would have held, if another says otherwise from `since` on."""
    would = before.would["valid_until"]
    return since if would is None else min(would, since)


def _next(
    before: _Moment, revision: Revision, past: Sequence[_Moment], written: Sequence[str]
) -> _Moment:
    """After a revision in which the other had no part."""
    changed = _changed(revision)
    was = before.was | changed
    if revision.kind == "formed" or (revision.kind != "reverted" and "content" in changed):
        standing = {name: (before.would | changed)[name] for name in _STANDING}
        return _Moment(was, was | standing)
    if revision.kind == "reverted" and (target := _restored(was, past)):
        # A revert leaves out links to notes that are gone, and parks what would be raw.
        kept = {} if target.formed else {name: was[name] for name in ("links", "status")}
        return _Moment(was, target.would | kept | _stood(was, before, past), target.formed)
    would = before.would | changed
    if before.carries:
        would["context"] = before.would["context"]
        for name in changed.keys() & _TERMS:
            would[name] = _reapplied(revision.changes[name], before.would, name, written)
    return _Moment(was, would, before.formed)


def _stood(was: dict[str, Any], before: _Moment, past: Sequence[_Moment]) -> dict[str, Any]:
    """How the note would stand after a revert: as it would when it last stood as it does now."""
    stood: dict[str, Any] = {}
    for name in _STANDING:
        same = (each.would[name] for each in reversed(past) if each.was[name] == was[name])
        unchanged = was[name] == before.was[name]
        stood[name] = before.would[name] if unchanged else next(same, was[name])
    return stood


def _restored(was: dict[str, Any], past: Sequence[_Moment]) -> _Moment | None:
    """The earlier moment that a revert went back to; rather one free of the other."""
    same = [each for each in past if all(each.was[name] == was[name] for name in _TEXTS)]
    free = [each for each in same if each.formed is None and not each.carries]
    return next(reversed(free or same), None)


def _reapplied(
    change: Change, would: dict[str, Any], name: str, written: Sequence[str]
) -> list[str]:
    """The terms as they would be, with those removed and added that the change did.

    A term found in what the other wrote, and nowhere else on the note, is not added.
    """
    kept = [term for term in would[name] if term in change.after or term not in change.before]
    theirs = "\n".join(written).casefold()
    own = "\n".join(
        [would["content"], *would["keywords"], *would["tags"], would["context"]]
    ).casefold()
    added = (
        term
        for term in change.after
        if term not in change.before
        and term not in kept
        and (term.casefold() in own or term.casefold() not in theirs)
    )
    return [*kept, *added]


def _new_texts(revision: Revision) -> list[str]:
    """What a revision brought to the note."""
    changes = {name: revision.changes[name] for name in _UNDERSTOOD if name in revision.changes}
    texts = [change.after for name, change in changes.items() if name not in _TERMS]
    for name in changes.keys() & _TERMS:
        change = changes[name]
        texts += [term for term in change.after if term not in change.before]
    return texts


def _retold(revision: Revision, before: _Moment, after: _Moment) -> Revision:
    """The revision with what it would have changed."""
    changes = {
        name: Change(before.would[name], after.would[name])
        for name in _FIELDS
        if before.would[name] != after.would[name]
    }
    read = revision.kind == "evolved" and before.carries
    return replace(revision, changes=changes, reason="" if read else revision.reason)


def _unnamed(gone: str, revision: Revision, there: bool) -> Revision:
    """The revision with nothing in its changes that leads to `gone`, but for what stands."""
    changes = dict(revision.changes)
    if there and "links" in changes:
        sides = (changes["links"].before, changes["links"].after)
        kept = (
            [each for each in side if each["to"] != gone or each["kind"] in _LASTING]
            for side in sides
        )
        changes["links"] = Change(*kept)
    for name, strip in _NAMING.items():
        if there and name == "links":
            continue
        if name in changes:
            change = changes[name]
            changes[name] = Change(strip(change.before, gone), strip(change.after, gone))
    return replace(revision, changes=changes)


_NAMING: Mapping[str, Callable[[Any, str], Any]] = {
    "links": lambda side, gone: [link for link in side if link["to"] != gone],
    "contested_by": lambda side, gone: [id for id in side if id != gone],
    "merged_into": lambda side, gone: None if side == gone else side,
}
