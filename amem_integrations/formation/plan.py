"""The steps of formation in their order, and a run of them that needs no LangGraph."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from amem_integrations.core.io import IO, Runnable, run
from amem_integrations.formation.batch import batch
from amem_integrations.formation.candidates import find_candidates
from amem_integrations.formation.commit import commit
from amem_integrations.formation.state import FormationState, Run, RunContext, Settings
from amem_integrations.formation.steps import admit, construct, evolve, fuse, link

Step: TypeAlias = Callable[[IO, Run], Awaitable[dict[str, Any]]]

STEPS: Mapping[str, Mapping[str, Step]] = {
    "staged": {
        "accept": admit,
        "construct": construct,
        "candidates": find_candidates,
        "link": link,
        "evolve": evolve,
        "commit": commit,
    },
    "fused": {"accept": admit, "candidates": find_candidates, "judge": fuse, "commit": commit},
    "batched": {"accept": admit, "candidates": find_candidates, "judge": batch, "commit": commit},
    "auto": {"accept": admit, "candidates": find_candidates, "judge": batch, "commit": commit},
}


@dataclass(frozen=True)
class StepSequence(Runnable):
    """What the graph does, step by step; its input is a state and the run's context.

    For statistics. They ask no model, so there is nothing to stream or to trace, and LangGraph
    would take longer than they do.
    """

    settings: Settings
    sync_io: IO
    async_io: IO

    def invoke(self, input: tuple[FormationState, RunContext]) -> FormationState:
        return run(self._take(self.sync_io, *input))

    async def ainvoke(self, input: tuple[FormationState, RunContext]) -> FormationState:
        return await self._take(self.async_io, *input)

    async def _take(self, io: IO, state: FormationState, context: RunContext) -> FormationState:
        for step in STEPS[self.settings.mode].values():
            found = await step(io, Run(self.settings, state, context))
            state = cast("FormationState", {**state, **found})
            # Forming many notes must not hold up everything else on the loop.
            await io.sleep(0)
        return state
