"""Pictures of a memory: its note graph, its embeddings, its activity, one note's trajectory.

Names resolve on first use; the libraries that draw (extra `plots`) are loaded when something is
drawn.
"""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.plots.activity import activity_data as activity_data
    from amem_integrations.plots.activity import activity_heatmap as activity_heatmap
    from amem_integrations.plots.embedding import embedding_map as embedding_map
    from amem_integrations.plots.embedding import map_data as map_data
    from amem_integrations.plots.graph import graph_data as graph_data
    from amem_integrations.plots.graph import note_graph as note_graph
    from amem_integrations.plots.picture import Picture as Picture
    from amem_integrations.plots.trajectories import trajectory as trajectory
    from amem_integrations.plots.trajectories import trajectory_data as trajectory_data

_HOMES = {
    "Picture": ".picture",
    "activity_data": ".activity",
    "activity_heatmap": ".activity",
    "embedding_map": ".embedding",
    "graph_data": ".graph",
    "map_data": ".embedding",
    "note_graph": ".graph",
    "trajectory": ".trajectories",
    "trajectory_data": ".trajectories",
}

__all__ = [
    "Picture",
    "activity_data",
    "activity_heatmap",
    "embedding_map",
    "graph_data",
    "map_data",
    "note_graph",
    "trajectory",
    "trajectory_data",
]

__getattr__, __dir__ = attributes(__name__, _HOMES)
