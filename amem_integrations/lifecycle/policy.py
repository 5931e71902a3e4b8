"""The numbers that the lifecycle goes by. Ours; the paper has none of this."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

from amem_integrations.core.status import Tier
from amem_integrations.errors import InvalidInputError

_HALF_LIVES: Mapping[Tier, timedelta] = {
    Tier.SHORT: timedelta(days=7),
    Tier.MID: timedelta(days=60),
    Tier.LONG: timedelta(days=730),
}
# More than a fifth below a user, all of them, so that nobody else changes what a user said.
_SOURCES: Mapping[str | None, float] = {
    "user": 0.9,
    "assistant": 0.45,
    "tool": 0.45,
    "import": 0.45,
    "web": 0.3,
    None: 0.3,
}


@dataclass(frozen=True, slots=True)
class Policy:
    """How far notes are believed, how long they are kept at hand, and when links change.

    Shares and confidences lie in [0, 1].

    Attributes:
        source_trust: trust in each kind of source; None: an unknown source.
        users: speakers who are users if no `source` is given, besides "user" and "human".
        half_lives: the half-life of confidence without confirmation, by tier.
        max_confirmations: how many confirmations lengthen the half-life, at most.
        occasions_to_mid: the sessions in which a short note must come up to become mid.
        turns_per_occasion: in a namespace with one session, turns this far apart count as
            separate occasions.
        time_to_long: how long a note is mid before it may become long.
        max_revisions_to_long: the revisions in that time with which it still may.
        revisions_to_demote: the revisions with which it falls a tier.
        max_short_notes: short notes kept in a namespace; beyond that the least confident are
            archived. None: any number.
        max_notes: notes kept in a namespace; None: any number.
        link_gain: the share of what its weight lacks that a link gains when its notes are used.
        link_conflict_factor: the share of its weight that a link keeps when its notes conflict.
        link_half_life: the half-life of an unused link's weight.
        min_link_weight: links below this weight are removed; 0: none is.
        co_use_sessions: the sessions in which two notes must be used together to be linked.
        merge_similarity: the cosine from which two notes may say the same.
        min_path_confidence: a path of links below this confidence adds less to a score.
        drop_weak_paths: whether such a path adds nothing.
        audit_after_in_a_row: conflicting uses in a row that start an audit.
        audit_after: conflicting uses within `audit_window`, without a clean use between, that do.
        audit_window: see `audit_after`.
        quarantine: whether no search finds a note under audit; else it comes behind others.
        trust_gap: a note whose source is trusted less than its target's by more than this share
            needs approval to change it.
        max_echo: the echo index above which more co-use links are made.
        idle_after: an unused mid note counts as idle after this time.
        active_within: a use this recent counts as activity.
        keep_use_reports: how long reports of use are kept.
        maintain_every: the pause between two background maintenance runs.

    Raises:
        InvalidInputError: a value is of the wrong type or out of range.

    Examples:
        >>> from amem_integrations import AgenticMemory, Policy
        >>> with AgenticMemory(lifecycle=Policy(max_short_notes=1000)) as memory:
        ...     note = memory.add("Tea is served at four", source="tool")
        ...     print(memory.lifecycle.explain(note).source_trust)
        0.45
    """

    source_trust: Mapping[str | None, float] = field(
        default_factory=lambda: dict(_SOURCES), hash=False
    )
    users: Collection[str] = field(default=(), hash=False)
    half_lives: Mapping[Tier, timedelta] = field(
        default_factory=lambda: dict(_HALF_LIVES), hash=False
    )
    max_confirmations: int = 5
    occasions_to_mid: int = 3
    turns_per_occasion: int = 50
    time_to_long: timedelta = timedelta(days=30)
    max_revisions_to_long: int = 1
    revisions_to_demote: int = 3
    max_short_notes: int | None = None
    max_notes: int | None = None
    link_gain: float = 0.1
    link_conflict_factor: float = 0.7
    link_half_life: timedelta = timedelta(days=90)
    min_link_weight: float = 0.0
    co_use_sessions: int = 3
    merge_similarity: float = 0.8
    min_path_confidence: float = 0.15
    drop_weak_paths: bool = False
    audit_after_in_a_row: int = 5
    audit_after: int = 3
    audit_window: timedelta = timedelta(days=90)
    quarantine: bool = False
    trust_gap: float = 0.2
    max_echo: float = 0.6
    idle_after: timedelta = timedelta(days=60)
    active_within: timedelta = timedelta(days=30)
    keep_use_reports: timedelta = timedelta(days=180)
    maintain_every: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        _check_names("users", self.users)
        shares = {name: getattr(self, name) for name in _SHARES}
        shares |= _each_of("source_trust", self.source_trust, _SOURCES)
        for name, value in shares.items():
            if not isinstance(value, float | int) or not 0 <= value <= 1:
                raise InvalidInputError(f"{name} lies in [0, 1]; got {value!r}.")
        for name, least in _COUNTS.items():
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= least) and not (
                value is None and name in _UNLIMITED
            ):
                raise InvalidInputError(
                    f"{name} is a whole number and at least {least}; got {value!r}."
                )
        spans = {name: getattr(self, name) for name in _SPANS}
        halves = {"link_half_life": self.link_half_life}
        halves |= _each_of("half_lives", self.half_lives, _HALF_LIVES)
        for name, value in (spans | halves).items():
            nothing = timedelta(0)
            if not isinstance(value, timedelta) or value < nothing:
                raise InvalidInputError(f"{name} is a timedelta, not negative; got {value!r}.")
            if name in halves and value == nothing:
                raise InvalidInputError(f"{name} is some time; got none.")
        for name in ("drop_weak_paths", "quarantine"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInputError(f"{name} is True or False; got {getattr(self, name)!r}.")


_SHARES = (
    "link_gain",
    "link_conflict_factor",
    "min_link_weight",
    "merge_similarity",
    "min_path_confidence",
    "trust_gap",
    "max_echo",
)
_SPANS = (
    "time_to_long",
    "audit_window",
    "idle_after",
    "active_within",
    "keep_use_reports",
    "maintain_every",
)
_COUNTS: Mapping[str, int] = {
    "max_confirmations": 0,
    "max_revisions_to_long": 0,
    "max_notes": 0,
    **dict.fromkeys(("max_short_notes", "occasions_to_mid", "co_use_sessions"), 1),
    **dict.fromkeys(
        ("audit_after_in_a_row", "audit_after", "turns_per_occasion", "revisions_to_demote"), 1
    ),
}
_UNLIMITED = ("max_short_notes", "max_notes")


def _each_of(name: str, given: object, wanted: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values of a mapping by their name in a message."""
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{name} is a mapping; got {type(given).__name__}.")
    known = cast("Mapping[Any, Any]", given)
    if missing := wanted.keys() - known.keys():
        raise InvalidInputError(f"{name} says nothing of {missing}.")
    return {f"{name}[{key!r}]": known[key] for key in wanted}


def _check_names(name: str, given: object) -> None:
    listed = isinstance(given, Collection) and not isinstance(given, str)
    if not listed or not all(isinstance(each, str) for each in cast("Collection[Any]", given)):
        raise InvalidInputError(f"{name} is a list of texts; got {given!r}.")


DEFAULT_POLICY = Policy()


def policy_of(lifecycle: object) -> Policy | None:
    """Return the policy that `AgenticMemory(lifecycle=…)` means, None for False."""
    if isinstance(lifecycle, Policy):
        return lifecycle
    if not isinstance(lifecycle, bool):
        raise InvalidInputError(
            f"lifecycle is True, False or a Policy; got {type(lifecycle).__name__}."
        )
    return DEFAULT_POLICY if lifecycle else None
