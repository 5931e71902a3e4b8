"""Maintenance, audits, proposals and merging do the same on every engine."""

import pytest

from amem_integrations import Status
from amem_integrations.core.io import run
from amem_integrations.core.status import Tier
from amem_integrations.lifecycle.audits import audit
from tests.lifecycle.days import PRUNING, Days, Lived
from tests.lifecycle.engines import KINDS, open_on
from tests.support import again, chat_model, io_of, links_everything

WORDS = ("cache", "violin", "rent", "garden")


@pytest.mark.parametrize("kind", KINDS)
def test_maintenance_does_the_same_on_every_engine(kind: str) -> None:
    days = Days()
    with open_on(kind, clock=days, formation="off", lifecycle=PRUNING) as memory:
        lived = Lived(memory, days, "a")
        said = {"session": "s", "speaker": "ann"}
        ids = [lived.add(f"The {word} of {word}s", **said) for word in WORDS]
        for id in ids:
            run(io_of(memory).engine.patch(id, {"status": str(Status.PLAIN)}))
        lived.link(ids[1], ids[0], 0.06)
        for session in ("t", "u", "v"):
            lived.use(ids[0], ids[2], session=session)
        done = lived.maintain(30)
        assert (done.uses, done.tiers, done.pruned, done.co_used) == (3, 2, 1, 1)
        assert lived.note(ids[0]).tier is Tier.MID
        assert [link.to for link in lived.note(ids[2]).outgoing] == [ids[0]]
        assert lived.note(ids[1]).outgoing == ()
        assert lived.maintain(0.5).uses == 0
        assert memory.admin.check() == []


@pytest.mark.parametrize("kind", KINDS)
def test_superseding_auditing_proposing_and_undoing_on_every_engine(kind: str) -> None:
    with open_on(kind, model=chat_model(links_everything)) as memory:
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
