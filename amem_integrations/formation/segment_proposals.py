"""What a model proposes about a turn, and what of that is taken.

Asked by `add_turn`, once and only in doubt; the statistics stand wherever it fails.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amem_integrations.analysts import sentences, turns
from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.turns import Verdict
from amem_integrations.core.analysis import Candidate, IdeaProposal, Turn
from amem_integrations.core.io import IO
from amem_integrations.core.note import Note
from amem_integrations.errors import AnalysisError, StoreError
from amem_integrations.formation.metering import MeteredIO
from amem_integrations.formation.state import Settings
from amem_integrations.llms.failures import is_interrupt
from amem_integrations.stores.usage import save_usage

_LOG = logging.getLogger(__name__)

_SAVED_AFTER = 32
# A model does not talk away what statistics see: what says more than this is not nothing, and
# what has less in common with a note does not repeat it.
MOST_OF_NOTHING, LEAST_SAID, LEAST_NEAR = 2.0, 0.3, 0.5


@dataclass(frozen=True, slots=True)
class Segment:
    """One idea of a turn, as a note not yet stored, and what it was found to be."""

    note: Note
    verdict: Verdict


async def asked(io: IO, settings: Settings, turn: Turn) -> list[IdeaProposal] | None:
    """What the analyst proposes; None where that cannot be had, which is counted."""
    account = settings.ledger.account(turn.note.namespace, settings.mode)
    settings.ledger.count("turn.asked")
    try:
        proposed = await settings.analyst.segment(MeteredIO(io, account), turn)
    except StoreError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise
        reason = error.reason if isinstance(error, AnalysisError) else type(error).__name__
        settings.ledger.count("turn.fallback")
        _LOG.warning("The model failed; statistics split the turn (%s).", reason)
        _LOG.debug("Why.", exc_info=error)
        proposed = None
    await save_usage(io, settings.ledger, every=_SAVED_AFTER)
    return proposed


def as_ranges(
    proposed: Sequence[IdeaProposal], size: int
) -> list[tuple[tuple[int, int], IdeaProposal]]:
    """The sentences of each idea; what is nothing goes with the idea before it, if there is one."""
    kept = [each for each in proposed if each.kind != "nothing"][: sentences.MAX_IDEAS]
    kept = kept or list(proposed[:1])
    starts = [0, *(each.first for each in kept[1:])]
    ends = [*starts[1:], size]
    return list(zip(zip(starts, ends, strict=True), kept, strict=True))


@dataclass(frozen=True, slots=True)
class Judge:
    """Holds a proposal against what statistics see, and counts what it does not take."""

    offered: Mapping[str, Candidate]
    corpus: Corpus
    names: frozenset[str]
    count: Callable[[str], None]

    def settle(self, segment: Segment, proposal: IdeaProposal) -> Verdict:
        """The proposed verdict where nothing speaks against it, else that of the statistics."""
        refusal = self._refusal(segment, proposal)
        if refusal is not None:
            self.count(f"turn.dropped.{refusal}")
            return segment.verdict
        reason = "so the model judged"
        return Verdict(proposal.kind, reason, proposal.of)

    def _refusal(self, segment: Segment, proposal: IdeaProposal) -> str | None:
        keys, mass = sentences.weigh_words(segment.note.content, self.corpus, self.names)
        if proposal.kind == "nothing":
            return "nothing" if mass > MOST_OF_NOTHING else None
        if proposal.of is None:
            return None
        candidate = self.offered.get(proposal.of)
        if candidate is None:
            return "not_offered"
        shared = turns.shared_weight(keys, candidate.note, self.corpus)
        apart = shared < LEAST_SAID and candidate.similarity < LEAST_NEAR
        return "unlike" if apart and proposal.kind == "repetition" else None
