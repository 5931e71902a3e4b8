"""What one more note costs to write, step by step, in a memory that holds many already."""

import time
from pathlib import Path
from statistics import median
from typing import Any

from amem_integrations.evaluation.scaling.material import HOME, one
from amem_integrations.evaluation.scaling.storages import memory_at
from amem_integrations.formation.state import initial_state

STEPS = ("store", "accept", "construct", "candidates", "link", "evolve", "commit")
_NOTES = 11


def writing(path: Path, *, size: int, seed: int, dimension: int) -> dict[str, float]:
    """Milliseconds of each of STEPS, medians over a few notes; judged by statistics.

    `store` is accepting the note: from then on it can be found. The others are the steps of the
    staged graph; a model would judge in construct, link and evolve. Nothing is embedded.
    """
    notes = [one(size + place, seed=seed, dimension=dimension) for place in range(_NOTES)]
    took: dict[str, list[float]] = {step: [] for step in STEPS}
    with memory_at(path, dimension, notes, mode="staged") as memory:
        graph: Any = memory.graph(checkpointer=False)
        for made in notes:
            last = time.perf_counter()
            note = memory.add(
                made.text,
                namespace=HOME,
                key=str(made.number),
                speaker=made.speaker,
                session=made.session,
                sequence=made.sequence,
                occurred_at=made.at,
            )
            now = time.perf_counter()
            took["store"].append((now - last) * 1e3)
            last = now
            for update in graph.stream(initial_state([note]), stream_mode="updates"):
                now = time.perf_counter()
                for step in update:
                    took[step].append((now - last) * 1e3)
                last = now
    # The first one also loads and warms up what the others find there.
    return {step: median(times[1:]) for step, times in took.items()}
