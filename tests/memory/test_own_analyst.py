"""An analyst of one's own judges in place of statistics or of the model."""

import pytest

from amem_integrations.analysts.statistical import StatisticalAnalyst
from amem_integrations.core.analysis import Judgement, LinkProposal, Subject, Understanding
from amem_integrations.core.io import IO
from amem_integrations.core.note import Status
from amem_integrations.errors import AnalysisError
from tests.support import again, open_memory


class Tickets(StatisticalAnalyst):
    """Links notes that name the same ticket, and nothing else."""

    async def fuse(self, io: IO, subject: Subject) -> Judgement:
        ticket = subject.note.content.split()[0]
        same = [each.note for each in subject.candidates if each.note.content.startswith(ticket)]
        return Judgement(
            Understanding((ticket,), ("ticket",), f"About {ticket}."),
            tuple(LinkProposal(note.id, f"both on {ticket}", "ticket") for note in same),
        )


class Refusing(StatisticalAnalyst):
    async def fuse(self, io: IO, subject: Subject) -> Judgement:
        raise AnalysisError("no opinion", reason="refusal", retryable=False)


def test_what_an_own_analyst_proposes_is_stored_under_its_name() -> None:
    with open_memory(analyst=Tickets(name="tickets")) as memory:
        first = memory.add("T-12 the pump leaks")
        memory.add("T-13 the lamp is dark")
        note = memory.add("T-12 the seal was replaced")
        assert [(link.to, link.kind) for link in note.outgoing] == [(first.id, "ticket")]
        assert note.keywords == ("T-12",)
        assert memory.history(note)[0].analyst == "tickets/fused"


def test_an_own_analyst_that_fails_leaves_the_note_raw() -> None:
    with open_memory(analyst=Refusing()) as memory:
        note = memory.add("T-12 the pump leaks")
        assert again(memory, note).status is Status.PARKED
        assert "no opinion" in str(again(memory, note).last_error)


@pytest.mark.parametrize("mode", ["fused", "staged", "batched"])
def test_an_own_analyst_judges_in_every_mode(mode: str) -> None:
    with open_memory(analyst=StatisticalAnalyst(name="own"), mode=mode) as memory:
        note = memory.add("The pump leaks")
        assert memory.history(note)[0].analyst.startswith("own/")
