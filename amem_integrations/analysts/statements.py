"""Two statements held against each other: the same, more, a contradiction, or nothing in common.

By their words alone, aligned: what both say, what one says beyond the other, and whether they
differ in a single slot that holds one value at a time. In doubt two statements are unrelated, as
of what follows from a contradiction an older note is outdated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from amem_integrations.analysts.clauses import Clause, Term, clauses, same_time
from amem_integrations.analysts.homes import moved_away
from amem_integrations.analysts.languages import language_of
from amem_integrations.core.note import Note

MAX_CHARS = 600
"""Longer texts are not compared: they say many things at once."""

_DATES = frozenset({"weekday", "month", "date", "day"})

# "Nine" can be an hour.
_HOURS = {"time", "number"}

Kind = Literal["same", "adds", "contradicts", "unrelated"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a newer statement relates to an older one.

    Attributes:
        kind: "same"; "adds" if one says more than the other; "contradicts" if they differ in one
            slot; else "unrelated".
        reason: why, for a contradiction.
        anaphoric: whether the newer one is a contradiction only if it answers the older one, as
            "Actually it's Tuesday" does.
        personal: whether the meaning of one depends on who says it ("my", "you").
        dated: whether it depends on the day ("yesterday").
    """

    kind: Kind
    reason: str = ""
    anaphoric: bool = False
    personal: bool = False
    dated: bool = False


UNRELATED = Comparison("unrelated")


def compare(older: str, newer: str) -> Comparison:
    """Return how `newer` relates to `older`; both are texts of the same language."""
    if max(len(older), len(newer)) > MAX_CHARS:
        return Comparison("same", personal=True, dated=True) if older == newer else UNRELATED
    if (places := moved_away(older, newer)) is not None:
        return Comparison("contradicts", f"'{places[1]}' instead of '{places[0]}'", personal=True)
    language = language_of(older, newer)
    before, after = clauses(older, language), clauses(newer, language)
    found = _relate(before, after)
    asks = any(mark in older + newer for mark in "?？")
    if found.kind == "same" and asks and older != newer:
        found = Comparison("adds")
    if found.kind == "unrelated":
        return Comparison("same", personal=True, dated=True) if older == newer else found
    both = (*before, *after)
    return replace(
        found,
        personal=found.anaphoric or any(clause.personal for clause in both),
        dated=any(term.kind == "day" for clause in both for term in clause.terms),
    )


def compare_notes(older: Note, newer: Note) -> Comparison:
    """Return how what `newer` says relates to what `older` says, by whom and when.

    "I live in Berlin" of one and "I live in Munich" of another have nothing in common.
    """
    found = compare(older.content, newer.content)
    if found.kind == "unrelated":
        return found
    apart = (found.personal and not same_voice(older, newer)) or (
        found.dated and older.local_time.date() != newer.local_time.date()
    )
    # An answer is to what was said in the same conversation.
    if found.anaphoric and (newer.session is None or older.session != newer.session):
        apart = True
    return UNRELATED if apart else found


def same_voice(one: Note, other: Note) -> bool:
    """Return whether "I" is the same in both notes."""
    if one.speaker is None and other.speaker is None:
        return one.source == other.source
    return one.speaker == other.speaker


def _relate(before: Sequence[Clause], after: Sequence[Clause]) -> Comparison:
    kinds = [[_compare(one, other) for one in before] for other in after]
    flat = [each for row in kinds for each in row]
    contradiction = next((each for each in flat if each.kind == "contradicts"), None)
    if contradiction is not None:
        return contradiction
    if (answer := _answer(before, after)) is not None:
        return answer
    if not flat:
        return UNRELATED
    found = [{each.kind for each in row} for row in kinds]
    if all("same" in row for row in found) and len(before) == len(after):
        return Comparison("same")
    if any({"same", "adds"} & row for row in found):
        return Comparison("adds")
    return UNRELATED


def _answer(before: Sequence[Clause], after: Sequence[Clause]) -> Comparison | None:
    """Return a contradiction by a newer text that only names another value."""
    named = [term for clause in after for term in clause.terms]
    if not any(clause.corrects for clause in after) or len(named) != 1 or not named[0].kind:
        return None
    kinds = _HOURS if named[0].kind in _HOURS else {named[0].kind}
    held = [term for clause in before for term in clause.terms if term.kind in kinds]
    if len(held) != 1 or _match(named[0], held[0]) or _hour(named[0]) == _hour(held[0]):
        return None
    reason = f"'{named[0].text}' instead of '{held[0].text}'"
    return Comparison("contradicts", reason, anaphoric=True)


def _hour(term: Term) -> str:
    return term.key.split(":")[0]


# -- clauses ---------------------------------------------------------------------------------


def _match(one: Term, other: Term) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "time":
        return same_time(one.key, other.key)
    return one.key == other.key and (not (one.name and other.name) or _near(one.text, other.text))


def _near(one: str, other: str) -> bool:
    return one.rstrip("s") == other.rstrip("s")


def _compare(older: Clause, newer: Clause) -> Comparison:
    if older.person and newer.person and older.person != newer.person:
        return UNRELATED
    shared, left, right = _align(older.terms, newer.terms)
    if older.unsure != newer.unsure or not any(not one.kind for one, _ in shared):
        return UNRELATED
    if changed := _changed(older, newer, shared):
        return Comparison("contradicts", f"'{changed[1]}' instead of '{changed[0]}'")
    if said_wrong := _denied(older, newer, shared):
        return Comparison("contradicts", f"says that '{said_wrong}' is not so")
    turned = [(one, other) for one, other in shared if one.sign != other.sign]
    if any(_in_subject(one, older) or _in_subject(other, newer) for one, other in turned):
        return UNRELATED
    opposed = (older.negative != newer.negative) != (len(turned) % 2 == 1)
    light = not left and not right
    if opposed:
        if len(shared) < 2 and (turned or not older.person or not newer.person):
            return UNRELATED
        if not light and not (newer.corrects and not left and len(right) < 3):
            return UNRELATED
        one, other = turned[0] if turned else (None, None)
        reason = f"'{other.text}' against '{one.text}'" if one and other else "says it is not so"
        return Comparison("contradicts", reason)
    if light:
        if reversed_pair := _reversed(older, newer):
            return Comparison("contradicts", reversed_pair)
        return Comparison("same" if older.leanings == newer.leanings else "unrelated")
    denied = [one for one in left if any(_match(one, other) for other in newer.denied)]
    slot = _slot(older, newer, left, right, bool(denied))
    if slot is not None:
        return Comparison("contradicts", f"'{slot[1]}' instead of '{slot[0]}'")
    if not left or not right:
        return Comparison("adds")
    return UNRELATED


def _changed(
    older: Clause, newer: Clause, shared: Sequence[tuple[Term, Term]]
) -> tuple[str, str] | None:
    """Return the old and the new value of what was moved "from Sunday to Saturday"."""
    if not newer.changes or sum(not one.kind for one, _ in shared) < 2:
        return None
    for old, new in zip(newer.terms, newer.terms[1:], strict=False):
        if old.kind and old.kind == new.kind and not _match(old, new):
            held = [term for term in older.terms if term.kind == old.kind]
            if any(_match(old, term) for term in held):
                return None if any(_match(new, term) for term in held) else (old.text, new.text)
    return None


def _denied(older: Clause, newer: Clause, shared: Sequence[tuple[Term, Term]]) -> str | None:
    """Return what the older clause says and the newer one denies: "on Friday, not Tuesday".

    Both must speak of the same, in a word besides it; in two if it is a word like any other.
    """
    held = [term for term in older.terms if any(_loosely(term, each) for each in newer.denied)]
    if not held or len(held) < len(newer.denied):
        return None
    plain = all(not term.kind and not term.name for term in held)
    besides = [one for one, _ in shared if not one.kind and one not in held]
    kinds = {term.kind for term in newer.terms} | (_HOURS & {term.kind for term in held})
    if len(besides) < (2 if plain else 1) or not all(term.kind in kinds for term in held):
        return None
    return held[0].text


def _loosely(one: Term, other: Term) -> bool:
    """Return whether two terms match, or are one hour: "seven" and "at seven"."""
    hours = {one.kind, other.kind} == _HOURS and _hour(one) == _hour(other)
    return hours or _match(one, other)


def _align(
    older: Sequence[Term], newer: Sequence[Term]
) -> tuple[list[tuple[Term, Term]], list[Term], list[Term]]:
    """Return the pairs of terms that both have, and what each has alone, in order."""
    rest = list(newer)
    shared: list[tuple[Term, Term]] = []
    left: list[Term] = []
    for term in older:
        other = next((each for each in rest if _match(term, each)), None)
        if other is None:
            left.append(term)
        else:
            rest.remove(other)
            shared.append((term, other))
    known = [one for one, _ in shared]
    # What is said twice adds nothing.
    return shared, left, [each for each in rest if not any(_match(each, one) for one in known)]


def _in_subject(term: Term, clause: Clause) -> bool:
    return clause.subject is not None and any(
        each is term for each in clause.terms[: clause.subject]
    )


def _reversed(older: Clause, newer: Clause) -> str | None:
    """Return what says that two terms have changed places, as in "from Rome to Oslo"."""
    places = [
        {term.after: term for term in clause.terms if term.after} for clause in (older, newer)
    ]
    moved = [
        (one.text, places[1][after].text)
        for after, one in places[0].items()
        if after in places[1] and not _match(one, places[1][after])
        and after in ("to", "than", "from", "als", "nach", "von", "a", "de", "que", "比")
    ]  # fmt: skip
    return f"'{moved[0][1]}' in the place of '{moved[0][0]}'" if moved else None


def _slot(
    older: Clause,
    newer: Clause,
    left: Sequence[Term],
    right: Sequence[Term],
    denied: bool,
) -> tuple[str, str] | None:
    """Return the old and the new value of the one slot in which two clauses differ."""
    if older.event or newer.event or not left or not right:
        return None
    sure = denied or newer.corrects
    states = (older.copula or older.single) and (newer.copula or newer.single)
    values = [[term for term in side if term.kind] for side in (left, right)]
    rest = [[term for term in side if not term.kind] for side in (left, right)]
    if len(values[0]) == 1 and len(values[1]) == 1 and values[0][0].kind == values[1][0].kind:
        if rest[0] or len(rest[1]) > (2 if sure else 0):
            return None
        if not sure and not _holds(older, values[0][0]) & _holds(newer, values[1][0]):
            return None
        if values[0][0].kind in _DATES and not (states or sure or _labels(older, newer)):
            return None
        return values[0][0].text, values[1][0].text
    if values[0] or values[1] or not states:
        return None
    return _words(older, newer, rest[0], rest[1], sure)


def _holds(clause: Clause, value: Term) -> bool:
    """Return whether a clause says this value of something, rather than of which one it speaks.

    "The meeting is in room 12" does, "Room 12 is booked" and "slow in build 12" do not.
    """
    if not value.label:
        return True
    if _in_subject(value, clause):
        return False
    said = len(clause.terms) - (clause.subject or 0) - (not clause.copula)
    return clause.subject is not None and said <= 2


def _labels(older: Clause, newer: Clause) -> bool:
    """Return whether both only name a thing and its value: "婚礼在九月", "Lunch: Friday"."""
    return all(clause.subject is None and len(clause.terms) == 2 for clause in (older, newer))


def _words(
    older: Clause, newer: Clause, left: Sequence[Term], right: Sequence[Term], sure: bool
) -> tuple[str, str] | None:
    """Return two words or names that stand in the same slot, one that holds one at a time."""
    if len(left) > 3 or len(right) > 3 or abs(len(left) - len(right)) > 1:
        return None
    if not _together(left, older.terms) or not _together(right, newer.terms):
        return None
    if any(_in_subject(term, older) for term in left):
        return None
    if any(_in_subject(term, newer) for term in right):
        return None
    if older.several or newer.several:
        return None
    if older.plural or newer.plural:
        return None
    named = all(term.name for term in (*left, *right))
    single = older.single and newer.single and left[0].after == right[0].after
    if single or (named and older.copula) or older.roles & newer.roles or (sure and older.copula):
        return " ".join(t.text for t in left), " ".join(t.text for t in right)
    return None


def _together(some: Sequence[Term], terms: Sequence[Term]) -> bool:
    places = [place for place, term in enumerate(terms) if any(term is each for each in some)]
    return places[-1] - places[0] == len(some) - 1
