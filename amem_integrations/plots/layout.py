"""Where the notes of a graph stand: linked ones by their links, the rest in rows below."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from amem_integrations.plots.graph import GraphData
from amem_integrations.plots.libraries import library

Places: TypeAlias = Mapping[str, tuple[float, float]]

FEW = 300
"""Up to how many notes a graph is drawn with care; a larger one is crowded anyway."""

_NAMED_ALONE = 12


def placed(data: GraphData) -> Places:
    """Where each note stands: the linked ones within [-1, 1] both ways, the others below -1.

    The same for the same graph. Raises ModuleNotFoundError without networkx.
    """
    networkx = library("networkx")
    graph: Any = networkx.Graph()
    for edge in data.edges:
        graph.add_edge(edge.source, edge.to, weight=0.2 + edge.weight)
    found: dict[str, tuple[float, float]] = {}
    if graph:
        laid: Any = networkx.forceatlas2_layout(
            graph,
            seed=0,
            max_iter=200 if len(graph) <= FEW else 150,
            weight="weight",
            scaling_ratio=2.0,
            strong_gravity=True,
        )
        found = _scaled({id: (float(x), float(y)) for id, (x, y) in laid.items()})
    alone = [node.id for node in data.nodes if node.id not in found]
    # A few have room to be named.
    across = 4 if len(alone) <= _NAMED_ALONE else max(12, int(len(alone) ** 0.5 * 3))
    for place, id in enumerate(alone):
        found[id] = (-1 + 2 * (place % across) / (across - 1), -1.25 - 0.12 * (place // across))
    return found


def _scaled(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Within [-1, 1] both ways."""
    bounds = [(min(values), max(values)) for values in zip(*places.values(), strict=True)]

    def scaled(value: float, low: float, high: float) -> float:
        return -1 + 2 * (value - low) / (high - low) if high > low else 0.0

    return {id: (scaled(x, *bounds[0]), scaled(y, *bounds[1])) for id, (x, y) in places.items()}
