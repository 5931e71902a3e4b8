"""The numbers that the lifecycle goes by. Ours; the paper has none of this."""

from collections.abc import Mapping
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
_SOURCES: Mapping[str | None, float] = {
    "user": 0.9,
    "tool": 0.7,
    "assistant": 0.6,
    "import": 0.5,
    None: 0.3,
}


@dataclass(frozen=True, slots=True)
class Policy:
    """How far notes are believed, how long they are kept at hand, and when links change.

    Shares and confidences lie in [0, 1].

    Attributes:
        sources: how far each kind of source is believed; None: unknown source.
        half_lives: after how long without confirmation half of the confidence is gone, by tier.
        confirmations: how many confirmations lengthen the half-life, at most.
        occasions: on how many occasions a short note must come up to become mid.
        segment: in a namespace of one session, turns this far apart are occasions of their own.
        settled: how long a note is mid before it may become long.
        revised_most: with how many revisions in that time at most.
        unsettled: with how many revisions it falls a tier.
        most_short: how many short notes a namespace keeps; the least believed are archived.
        most_notes: how many notes it keeps in all; None for any number.
        together: the share of what its weight lacks that a link gains by use.
        apart: the share of its weight that a link keeps when its notes conflict.
        link_half_life: after how long without use half of a link's weight is gone.
        pruned: the weight under which a link is removed.
        co_used: in how many sessions notes must be used together to be linked.
        same: the cosine from which on two notes may say the same.
        path: the confidence of a path under which links add less to a score.
        drop: whether such paths find nothing instead.
        in_a_row: how many conflicting uses in a row call for an audit.
        repeated: or how many within the time `within` without a clean use between.
        within: that time.
        trust_gap: the share by which a note may be believed less than a note that it changes.
        echo: the echo index over which more co-use links are made.
        idle: after how long a mid note counts as idle.
        active: how recent a use is that counts as activity.
        log: how long reports of use are kept.
        due: how long maintenance waits after the last.

    Raises:
        InvalidInputError: a value is of the wrong type or out of range.

    Examples:
        >>> from amem_integrations import AgenticMemory, Policy
        >>> with AgenticMemory(lifecycle=Policy(most_short=1000)) as memory:
        ...     note = memory.add("Tea is served at four", source="tool")
        ...     print(memory.lifecycle.explain(note).source_trust)
        0.7
    """

    sources: Mapping[str | None, float] = field(default_factory=lambda: dict(_SOURCES), hash=False)
    half_lives: Mapping[Tier, timedelta] = field(
        default_factory=lambda: dict(_HALF_LIVES), hash=False
    )
    confirmations: int = 5
    occasions: int = 3
    segment: int = 50
    settled: timedelta = timedelta(days=30)
    revised_most: int = 1
    unsettled: int = 3
    most_short: int = 200
    most_notes: int | None = None
    together: float = 0.1
    apart: float = 0.7
    link_half_life: timedelta = timedelta(days=90)
    pruned: float = 0.05
    co_used: int = 3
    same: float = 0.8
    path: float = 0.15
    drop: bool = False
    in_a_row: int = 5
    repeated: int = 3
    within: timedelta = timedelta(days=90)
    trust_gap: float = 0.2
    echo: float = 0.6
    idle: timedelta = timedelta(days=60)
    active: timedelta = timedelta(days=30)
    log: timedelta = timedelta(days=180)
    due: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        shares = {name: getattr(self, name) for name in _SHARES}
        shares |= _each_of("sources", self.sources, _SOURCES)
        for name, value in shares.items():
            if not isinstance(value, float | int) or not 0 <= value <= 1:
                raise InvalidInputError(f"{name} lies in [0, 1]; got {value!r}.")
        for name, least in _COUNTS.items():
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= least) and (name, value) != _ANY:
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
        if not isinstance(self.drop, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"drop is True or False; got {self.drop!r}.")


_SHARES = ("together", "apart", "pruned", "same", "path", "trust_gap", "echo")
_SPANS = ("settled", "within", "idle", "active", "log", "due")
_COUNTS: Mapping[str, int] = {
    "confirmations": 0,
    "revised_most": 0,
    "most_notes": 0,
    **dict.fromkeys(("most_short", "occasions", "co_used"), 1),
    **dict.fromkeys(("in_a_row", "repeated", "segment", "unsettled"), 1),
}
_ANY = ("most_notes", None)


def _each_of(name: str, given: object, wanted: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values of a mapping by their name in a message."""
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{name} is a mapping; got {type(given).__name__}.")
    known = cast("Mapping[Any, Any]", given)
    if missing := wanted.keys() - known.keys():
        raise InvalidInputError(f"{name} says nothing of {missing}.")
    return {f"{name}[{key!r}]": known[key] for key in wanted}


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
