"""The fused judgement: understanding, links and evolutions of a note in one question."""

from collections.abc import Mapping
from typing import Any

from amem_integrations.core.analysis import Judgement
from amem_integrations.core.io import IO
from amem_integrations.formation.judge import judge_each
from amem_integrations.formation.state import FormationState, Settings, proposal_json


async def fuse(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Everything proposed for every open note; a step that is switched off proposes nothing."""
    judged, outcomes = await judge_each(io, settings, state, settings.analyst.fuse)
    return {**proposed(settings, judged), "outcomes": outcomes}


def proposed(settings: Settings, judged: Mapping[str, Judgement]) -> dict[str, Any]:
    """The judgements as the state keeps them, without the steps that are switched off."""
    links = judged.items() if settings.link else ()
    evolutions = judged.items() if settings.evolve else ()
    return {
        "understanding": {id: proposal_json(each.understanding) for id, each in judged.items()},
        "links": {id: [proposal_json(p) for p in each.links] for id, each in links},
        "evolutions": {id: [proposal_json(p) for p in each.evolutions] for id, each in evolutions},
    }
