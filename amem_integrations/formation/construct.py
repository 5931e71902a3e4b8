"""Construction: what the note is about (paper §3.1)."""

from typing import Any

from amem_integrations.core.io import IO
from amem_integrations.formation.judge import judge_each
from amem_integrations.formation.state import FormationState, Settings, proposal_json


async def construct(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Keywords, tags and context for every open note."""
    judged, outcomes = await judge_each(io, settings, state, settings.analyst.construct)
    return {
        "understanding": {id: proposal_json(found) for id, found in judged.items()},
        "outcomes": outcomes,
    }
