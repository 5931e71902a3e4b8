"""A note and its history as if another note had never had a part in them. Pure.

History is replayed revision by revision, both as it was and as it would have been. What the other
note wrote goes, and with it the sentences that were written where its words could be read.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amem_integrations.core.note import (
    NOT_UNDERSTOOD,
    OPPOSING,
    REFERS,
    REPEATS,
    Change,
    Link,
    Note,
    Revision,
    Status,
)
from amem_integrations.core.status import STANDING, UNDER_AUDIT, UNDERSTOOD, UNDERSTOOD_LISTS
from amem_integrations.revisions.change import keep_references, map_changes
from amem_integrations.stores.codec import fields_from, link_json, state_of

_TEXTS = ("content", *UNDERSTOOD)
_SET_ASIDE = (Status.ARCHIVED, *UNDER_AUDIT)
_LASTING = (REPEATS, *OPPOSING, REFERS)
# How a note stands does not rest on its having been formed; what caps its trust does.
_UNFORMED = tuple(name for name in STANDING if name != "trust")


@dataclass(frozen=True)
class _Moment:
    """The fields of a note at one version, as they were and as they would have been.

    formed: the version at which the note was formed in the other's light, if it rests on that.
    """

    was: dict[str, Any]
    would: dict[str, Any]
    formed: int | None = None

    @property
    def carries(self) -> bool:
        """Whether something of the other note could be read on this one."""
        return any(self.differs(name) for name in UNDERSTOOD)

    def differs(self, name: str) -> bool:
        return self.was[name] != self.would[name]


def took_part(revision: Revision, gone: str) -> bool:
    """Return whether `gone` caused the revision, or its text was read for it."""
    return gone == revision.cause or gone in revision.sources


def without(
    note: Note,
    chain: Sequence[Revision],
    gone: str,
    since: Mapping[str, int] | None = None,
    *,
    there: bool = False,
) -> tuple[Note, list[Revision]]:
    """Return the note and its revisions, oldest first, as if `gone` had never had a part in them.

    Keywords and tags that others added or removed are added or removed again. Links that `gone`
    brought go, and so does a context that was written while the note carried something of `gone`.
    A note that was formed in the light of `gone` becomes raw, and its history ends before that,
    except for how it stands. A skipped note that repeats `gone` becomes raw too. A note set
    aside because of `gone` is back.

    since: from when on, in microseconds, what other notes say is valid that contradict this one.
    there: `gone` still exists and was only misread; what a caller said of the two stands.
    """
    took = {
        revision.version
        for revision in chain
        if took_part(revision, gone) and not (there and revision.analyst == "caller")
    }
    chain, brought = _drop_brought_links(
        [_drop_references(revision, gone, there) for revision in chain], took
    )
    # What each field was before it first changed.
    first: dict[str, Any] = {**state_of(note), "links": []}
    for revision in reversed(chain):
        first |= {name: change.before for name, change in revision.changes.items()}
    moment = _Moment(first, first)
    past = [moment]
    written: list[str] = []
    clean: list[Revision] = []
    for revision in chain:
        before = _catch_up(moment, revision)
        if revision.version in took:
            written += _new_texts(revision)
            formed = revision.version if revision.kind == "formed" else before.formed
            moment = _Moment(before.was | _changed(revision), before.would, formed)
        else:
            moment = _next(before, revision, past, written)
            if since and revision.cause in since and before.differs("valid_until"):
                until, limit = before.would["valid_until"], since[revision.cause]
                moment.would["valid_until"] = limit if until is None else min(until, limit)
            clean.append(_rewrite(revision, before, moment))
        past.append(moment)
    links = tuple(
        link
        for link in note.outgoing
        if link.to not in brought and (link.to != gone or (there and link.kind in _LASTING))
    )
    note = replace(note, **_standing(note, moment, gone))
    if moment.formed is not None:
        lasting = tuple(
            link for link in links if link.kind in _LASTING and not _was_formed(link, chain)
        )
        # One whose own effects were reverted waits for its caller, too.
        stays = note.status in (*_SET_ASIDE, Status.PLAIN, Status.SKIPPED)
        status = note.status if stays else Status.RAW
        raw = note.evolve(**NOT_UNDERSTOOD, links=lasting, status=status, trust=1.0)
        left = _before_forming(clean, moment.formed, [link_json(link) for link in lasting])
        return replace(raw, attempts=0), left
    if note.status in (Status.PLAIN, Status.SKIPPED) and any(
        link.to == gone and link not in links for link in note.outgoing
    ):
        # What it repeats is gone, so now it is the one to say it.
        return note.evolve(links=links, status=Status.RAW, attempts=0), clean
    changed = {name: moment.would[name] for name in UNDERSTOOD if moment.differs(name)}
    return note.evolve(links=links, **fields_from(note.id, changed)), clean


def _drop_references(revision: Revision, gone: str, there: bool) -> Revision:
    """Drop from the changes what refers to `gone`, except for lasting links if it is `there`."""

    def convert(name: str, value: Any) -> Any:
        if there and name == "links":
            return [link for link in value if link["to"] != gone or link["kind"] in _LASTING]
        return keep_references(name, value, gone.__ne__)

    return map_changes(revision, convert)


def _drop_brought_links(
    chain: Sequence[Revision], took: Collection[int]
) -> tuple[list[Revision], set[str]]:
    """Drop the links that the versions `took` brought to the note; also return where these lead.

    A forming is another matter: with it goes all that it made.
    """
    brought: set[str] = set()
    clean: list[Revision] = []
    for revision in chain:
        if "links" in revision.changes and revision.kind != "formed":
            added = _added_links(revision)
            if revision.version in took:
                brought |= added
            else:
                brought -= added
                change = revision.changes["links"]
                sides = (
                    [link for link in side if link["to"] not in brought]
                    for side in (change.before, change.after)
                )
                revision = replace(revision, changes={**revision.changes, "links": Change(*sides)})
        clean.append(revision)
    return clean, brought


def _added_links(revision: Revision) -> set[str]:
    change = revision.changes["links"]
    return {link["to"] for link in change.after} - {link["to"] for link in change.before}


def _was_formed(link: Link, chain: Sequence[Revision]) -> bool:
    """Return whether a forming made the link, rather than a caller or `add_turn`."""
    for revision in reversed(chain):
        change = revision.changes.get("links", Change([], []))
        sides = (change.before, change.after)
        before, after = ({(each["to"], each["kind"]) for each in side} for side in sides)
        if (link.to, link.kind) in after - before:
            return revision.kind == "formed"
    return False


def _before_forming(chain: Sequence[Revision], formed: int, links: Sequence[Any]) -> list[Revision]:
    """The revisions before a forming, and what the later ones say of how the note stands.

    links: those that the note keeps; the last of the later ones that changed links leads to them.
    """
    later = [revision for revision in chain if revision.version >= formed]
    linked = [revision for revision in later if "links" in revision.changes]
    before = linked[0].changes["links"].before if linked else links
    left = [revision for revision in chain if revision.version < formed]
    for revision in later:
        kept = {name: change for name, change in revision.changes.items() if name in _UNFORMED}
        if before != links and revision is linked[-1]:
            kept["links"] = Change(before, links)
        status = revision.changes.get("status")
        if kept or (status is not None and status.after in _SET_ASIDE):
            left.append(replace(revision, changes=kept))
    return left


def _standing(note: Note, moment: _Moment, gone: str) -> dict[str, Any]:
    """The fields that say how the note stands, as they would be."""
    differ = {name: moment.would[name] for name in STANDING if moment.differs(name)}
    if note.status in _SET_ASIDE and moment.differs("status"):
        differ["status"] = moment.would["status"]
    fields = fields_from(note.id, differ)
    contested: tuple[str, ...] = fields.get("contested_by", note.contested_by)
    fields["contested_by"] = tuple(id for id in contested if id != gone)
    if note.merged_into == gone:
        fields["merged_into"] = None
    return fields


def _catch_up(moment: _Moment, revision: Revision) -> _Moment:
    """The moment with what changed unrecorded, as a status does when a note is parked."""
    drifted = {
        name: change.before
        for name, change in revision.changes.items()
        if change.before != moment.was[name]
    }
    followed = {name: value for name, value in drifted.items() if not moment.differs(name)}
    return replace(moment, was=moment.was | drifted, would=moment.would | followed)


def _changed(revision: Revision) -> dict[str, Any]:
    return {name: change.after for name, change in revision.changes.items()}


def _next(
    before: _Moment, revision: Revision, past: Sequence[_Moment], written: Sequence[str]
) -> _Moment:
    """The moment after a revision in which the other note had no part."""
    changed = _changed(revision)
    was = before.was | changed
    if revision.kind == "formed" or (revision.kind != "reverted" and "content" in changed):
        standing = {name: (before.would | changed)[name] for name in STANDING}
        return _Moment(was, was | standing)
    if revision.kind == "reverted" and (target := _reverted_to(was, past)):
        # A revert leaves out links to notes that are gone, and has a status of its own.
        kept = {} if target.formed else {name: was[name] for name in ("links", "status")}
        return _Moment(was, target.would | kept | _stood(was, before, past), target.formed)
    would = before.would | changed
    if before.carries:
        would["context"] = before.would["context"]
        for name in changed.keys() & {*UNDERSTOOD_LISTS}:
            would[name] = _reapply(revision.changes[name], before.would, name, written)
    return _Moment(was, would, before.formed)


def _stood(was: dict[str, Any], before: _Moment, past: Sequence[_Moment]) -> dict[str, Any]:
    """How the note would stand after a revert: as it would when it last stood as it does now."""
    stood: dict[str, Any] = {}
    for name in STANDING:
        same = (moment.would[name] for moment in reversed(past) if moment.was[name] == was[name])
        unchanged = was[name] == before.was[name]
        stood[name] = before.would[name] if unchanged else next(same, was[name])
    return stood


def _reverted_to(was: dict[str, Any], past: Sequence[_Moment]) -> _Moment | None:
    """The earlier moment that a revert went back to; rather one free of the other note."""
    same = [moment for moment in past if all(moment.was[name] == was[name] for name in _TEXTS)]
    free = [moment for moment in same if moment.formed is None and not moment.carries]
    return next(reversed(free or same), None)


def _reapply(change: Change, would: dict[str, Any], name: str, written: Sequence[str]) -> list[str]:
    """The terms as they would be, with what the change removed and added.

    A term that the other note wrote, and that is nowhere else on this one, is not added.
    """
    kept = [term for term in would[name] if term in change.after or term not in change.before]
    theirs = "\n".join(written).casefold()
    lists = (term for each in UNDERSTOOD_LISTS for term in would[each])
    own = "\n".join((would["content"], would["context"], *lists)).casefold()
    added = (
        term
        for term in change.after
        if term not in change.before
        and term not in kept
        and (term.casefold() in own or term.casefold() not in theirs)
    )
    return [*kept, *added]


def _new_texts(revision: Revision) -> list[str]:
    changes = revision.changes
    texts = [changes["context"].after] if "context" in changes else []
    for name in changes.keys() & {*UNDERSTOOD_LISTS}:
        texts += [term for term in changes[name].after if term not in changes[name].before]
    return texts


def _rewrite(revision: Revision, before: _Moment, after: _Moment) -> Revision:
    """The revision with what it would have changed."""
    changes = {
        name: Change(before.would[name], after.would[name])
        for name in after.would
        if before.would[name] != after.would[name]
    }
    read = revision.kind == "evolved" and before.carries
    return replace(revision, changes=changes, reason="" if read else revision.reason)
