"""The figures of a namespace's health: the one table of what they mean and when to worry.

Pure; `health` gathers what they are computed from, `vitals` adds up notes and their changes.
Ours, not the paper's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from amem_integrations.admin.vitals import Vitals
from amem_integrations.core.note import Status
from amem_integrations.core.status import Tier
from amem_integrations.core.usage import Usage
from amem_integrations.lifecycle.policy import Policy

FEW = 10
"""Formed notes below which it is no worry that they are not linked: they may be about anything."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a namespace.

    Attributes:
        name: what it is called.
        value: None where there is nothing that it could be measured by.
        unit: what it is counted in; a share lies in [0, 1].
        meaning: in a line.
        under: below which to worry; None: not for being low.
        over: above which to worry; None: not for being high.

    Examples:
        >>> _ = memory.add("Tea is served at four")
        >>> figure = memory.admin.health("default").figure("parked")
        >>> figure.value, figure.worry, figure.when, figure.shown
        (0, False, 'over 0', '0 notes')
    """

    name: str
    value: float | None
    unit: str
    meaning: str
    under: float | None = None
    over: float | None = None

    @property
    def worry(self) -> bool:
        """Whether it is beyond what it should be."""
        if self.value is None:
            return False
        low = self.under is not None and self.value < self.under
        return low or (self.over is not None and self.value > self.over)

    @property
    def when(self) -> str:
        """When to worry, in words; empty for a figure that only informs."""
        bounds = (("under", self.under), ("over", self.over))
        return " or ".join(f"{side} {bound:,g}" for side, bound in bounds if bound is not None)

    @property
    def shown(self) -> str:
        """The value with its unit, for people."""
        if self.value is None:
            return "-"
        number = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.2f}"
        return number if self.unit == "share" else f"{number} {self.unit}"

    def __str__(self) -> str:
        worry = f" (worry {self.when})" if self.when else ""
        return (
            f"{'!' if self.worry else ' '} {self.name:<16} {self.shown:>16}  {self.meaning}{worry}"
        )


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a namespace beside its notes.

    counts: notes by status. unreadable: damaged ones, which are left out of all other figures.
    proposals: that wait. uncounted: reports of use. echo: the index; None without links.
    usage: what model calls took. looked_after: whether anybody maintains it.
    """

    counts: Mapping[str, int]
    unreadable: int = 0
    proposals: int = 0
    uncounted: int = 0
    echo: float | None = None
    usage: Usage = field(default_factory=Usage)
    looked_after: bool = False


def figures(vitals: Vitals, told: Told, policy: Policy) -> tuple[Figure, ...]:
    """The table: every figure with its unit, what it means and when to worry.

    What only rises where uses are reported, or notes looked after, is no worry elsewhere; nor are
    links among a few notes.
    """
    notes = sum(told.counts.values()) + told.unreadable
    reported = vitals.clean + vitals.conflicting > 0
    several = len(vitals.formed) >= FEW
    active, idle = policy.active.days, policy.idle.days

    def count(status: Status, meaning: str, over: float | None = None) -> Figure:
        return Figure(str(status), told.counts.get(status, 0), "notes", meaning, over=over)

    def tier(tier: Tier, meaning: str, over: float | None = None) -> Figure:
        return Figure(str(tier), vitals.tiers[tier], "notes", meaning, over=over)

    def share(
        name: str, meaning: str, under: float | None = None, over: float | None = None
    ) -> Figure:
        return Figure(name, getattr(vitals, name), "share", meaning, under, over)

    def per_note(name: str, amount: float, unit: str, meaning: str, over: float) -> Figure:
        return Figure(name, amount / notes if notes else None, unit, meaning, over=over)

    return (
        # What there is.
        Figure("notes", notes, "notes", "all that are stored"),
        Figure("unreadable", told.unreadable, "notes", "damaged; see check() and repair()", over=0),
        count(Status.FORMED, "understood and linked"),
        count(Status.PLAIN, "kept as they are, not to be formed"),
        count(Status.ARCHIVED, "set aside; restore() brings back"),
        tier(
            Tier.SHORT,
            "believed for days unless confirmed",
            over=policy.most_short if told.looked_after else None,
        ),
        tier(Tier.MID, "believed for weeks"),
        tier(Tier.LONG, "believed for years"),
        # What waits for something or somebody.
        count(Status.RAW, "wait to be formed; resume() does it now"),
        Figure(
            "oldest_wait",
            vitals.oldest_wait,
            "hours",
            "how long the oldest of them waits",
            over=1.0,
        ),
        count(Status.PARKED, "given up after failures; see retry()", over=0),
        count(
            Status.QUARANTINED, "open audits: out of recall until resolve(); see audits()", over=0
        ),
        Figure(
            "contested",
            vitals.contested,
            "notes",
            "another note says otherwise, and nobody settled it; see resolve()",
            over=20,
        ),
        Figure(
            "proposals",
            told.proposals,
            "changes",
            "wait because who proposed them is believed less; see proposals()",
            over=20,
        ),
        Figure(
            "uncounted",
            told.uncounted,
            "reports",
            "of use that are not in these figures yet; maintain() counts them",
            over=1000,
        ),
        # How it hangs together.
        Figure(
            "links_per_note",
            vitals.links_per_note,
            "links",
            "a note; few leave little to follow from a hit",
            under=0.5 if several else None,
        ),
        share(
            "orphans",
            "share of the formed notes without a link either way",
            over=0.5 if several else None,
        ),
        Figure(
            "echo",
            told.echo,
            "share",
            "share of link weight inside clusters of like notes, less what chance gives",
            over=policy.echo,
        ),
        share(
            "duplicates",
            "share of the notes near-identical to another; consolidate() merges what it can",
            over=0.1,
        ),
        share(
            "foreign_script",
            "share of the notes in a script that the embedder does not know",
            over=0.05,
        ),
        # What it is worth, and how it lives.
        share(
            "confidence",
            "how far notes are believed, on average",
            under=0.2 if told.looked_after else None,
        ),
        share(
            "activity",
            f"share of the notes used in {active} days",
            under=0.02 if reported else None,
        ),
        share(
            "idle_mid",
            f"share of the mid notes neither confirmed nor used in {idle} days",
            over=0.5 if reported else None,
        ),
        share(
            "stability", f"share of the mid and long notes not revised in {active} days", under=0.7
        ),
        share(
            "plasticity",
            f"share of the notes made in {active} days that changed an older one",
            over=0.9,
        ),
        share("consistency", "share of the uses that did not contradict what is so", under=0.8),
        share(
            "transparency",
            "share of the changes with cause, before and after; see check() and repair()",
            under=1.0,
        ),
        share(
            "traceability",
            "share of the conflicts whose other note is there; see check() and repair()",
            under=1.0,
        ),
        # What it took.
        per_note(
            "calls_per_note",
            told.usage.calls,
            "calls",
            "of the model, for each note that is stored",
            over=4,
        ),
        per_note(
            "tokens_per_note",
            told.usage.tokens_in + told.usage.tokens_out,
            "tokens",
            "read and written by the model, for each note",
            over=10_000,
        ),
        per_note(
            "seconds_per_note",
            told.usage.seconds,
            "seconds",
            "waited for the model, for each note",
            over=30,
        ),
    )
