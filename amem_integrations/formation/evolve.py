"""Evolution: how linked and near notes are to be understood in the new one's light (paper §3.3)."""

from typing import Any

from amem_integrations.core.analysis import Evolution, Subject
from amem_integrations.core.io import IO
from amem_integrations.formation.judge import judge_each
from amem_integrations.formation.link import as_understood
from amem_integrations.formation.state import (
    FormationState,
    Settings,
    links_from,
    proposal_json,
)


async def evolve(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Evolution proposals for every open note; none without candidates or with it off."""
    if not settings.evolve:
        return {"evolutions": {}}

    async def judge(io: IO, subject: Subject) -> list[Evolution]:
        if not subject.candidates:
            return []
        links = links_from(state, subject.note.id)
        return await settings.analyst.evolve(io, as_understood(subject, state), links)

    judged, outcomes = await judge_each(io, settings, state, judge)
    return {
        "evolutions": {id: [proposal_json(each) for each in found] for id, found in judged.items()},
        "outcomes": outcomes,
    }
