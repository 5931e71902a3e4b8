"""Linking: which candidates the note belongs with (paper §3.2)."""

from typing import Any

from amem_integrations.core.analysis import LinkProposal, Subject
from amem_integrations.core.io import IO
from amem_integrations.formation.judge import judge_each
from amem_integrations.formation.state import (
    FormationState,
    Settings,
    proposal_json,
    understanding_from,
)


async def link(io: IO, settings: Settings, state: FormationState) -> dict[str, Any]:
    """Link proposals for every open note; none without candidates or with linking off."""
    if not settings.link:
        return {"links": {}}

    async def judge(io: IO, subject: Subject) -> list[LinkProposal]:
        if not subject.candidates:
            return []
        return await settings.analyst.link(io, as_understood(subject, state))

    judged, outcomes = await judge_each(io, settings, state, judge)
    return {
        "links": {id: [proposal_json(each) for each in found] for id, found in judged.items()},
        "outcomes": outcomes,
    }


def as_understood(subject: Subject, state: FormationState) -> Subject:
    """The subject carrying what construction proposed for it."""
    data = state.get("understanding", {}).get(subject.note.id)
    if data is None:
        return subject
    found = understanding_from(data)
    note = subject.note.evolve(keywords=found.keywords, tags=found.tags, context=found.context)
    return Subject(note, subject.candidates, subject.background)
