"""Every memory system that takes part in question answering, by name.

A system of your own needs no place here: whoever runs an evaluation can give a factory.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from amem_integrations.evaluation.qa.system import Factory
from amem_integrations.evaluation.qa.systems.agents import GenerativeAgents, MemGPT
from amem_integrations.evaluation.qa.systems.amem import AMem
from amem_integrations.evaluation.qa.systems.plain import Bm25, Dense, FullContext, Nothing
from amem_integrations.evaluation.qa.systems.summaries import MemoryBank, ReadAgent

SYSTEMS: Mapping[str, Factory] = MappingProxyType(
    {
        "amem": AMem,
        "amem-free": partial(AMem, name="amem-free", judged=False),
        "amem-fused": partial(AMem, name="amem-fused", judged=True),
        "amem-staged": partial(AMem, name="amem-staged", judged=True, mode="staged"),
        "amem-batched": partial(AMem, name="amem-batched", judged=True, mode="batched"),
        "amem-raw": partial(AMem, name="amem-raw", judged=False, formation="off"),
        "amem-without-links": partial(AMem, name="amem-without-links", link=False),
        "amem-without-evolution": partial(AMem, name="amem-without-evolution", evolve=False),
        "amem-without-both": partial(AMem, name="amem-without-both", link=False, evolve=False),
        "full-context": FullContext,
        "dense": Dense,
        "bm25": Bm25,
        "nothing": Nothing,
        "memorybank": MemoryBank,
        "readagent": ReadAgent,
        "memgpt": MemGPT,
        "generative-agents": GenerativeAgents,
    }
)
"""From a name to what makes the system; see `system.Factory`."""
