"""What is settled comes out the same whatever keeps it."""

import pytest

from amem_integrations import Status
from amem_integrations.core.io import run
from amem_integrations.lifecycle.audits import audit
from tests.lifecycle.engines import KINDS, open_on
from tests.support import again, chat_model, io_of, links_everything


@pytest.mark.parametrize("kind", KINDS)
def test_superseding_auditing_proposing_and_undoing_on_every_engine(kind: str) -> None:
    with open_on(kind, model=chat_model(links_everything), lifecycle=True) as memory:
        honest = memory.add("The redis cache holds 512 entries", source="user")
        hearsay = memory.add("Hearsay about the cache")
        newer = memory.add("The redis cache holds 900 entries", source="user", supersedes=honest)
        assert again(memory, honest).valid_until == newer.created_at
        run(audit(io_of(memory), again(memory, honest), "why"))
        assert [each.reason for each in memory.lifecycle.audits()] == ["why"]
        assert memory.lifecycle.resolve(honest, "keep").status is Status.FORMED
        [proposal] = [each for each in memory.lifecycle.proposals() if each.target == honest.id]
        assert "seen-Hearsay" in memory.lifecycle.accept(proposal).keywords
        undone = memory.lifecycle.revert_cause(hearsay)
        assert honest.id in undone.notes
        assert "Hearsay" not in repr(memory.history(honest))
        assert again(memory, honest).valid_until == newer.created_at
        assert memory.admin.check() == []
