"""Every system that takes part, by name; the module of one is loaded when it is made.

A system of your own needs no place here: whoever runs an evaluation can give a factory.
"""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from amem_integrations.evaluation.qa.system import Factory, Means, System


def _made_in(module: str, kind: str, /, **settings: Any) -> Factory:
    def make(means: Means) -> System:
        make_it: Factory = getattr(import_module(f"{__name__}.{module}"), kind)
        return partial(make_it, **settings)(means)

    return make


SYSTEMS: Mapping[str, Factory] = MappingProxyType(
    {
        "amem": _made_in("amem", "AMem"),
        "amem-free": _made_in("amem", "AMem", name="amem-free", judged=False),
        "amem-fused": _made_in("amem", "AMem", name="amem-fused", judged=True),
        "amem-staged": _made_in("amem", "AMem", name="amem-staged", judged=True, mode="staged"),
        "amem-batched": _made_in("amem", "AMem", name="amem-batched", judged=True, mode="batched"),
        "amem-raw": _made_in("amem", "AMem", name="amem-raw", judged=False, formation="off"),
        "amem-without-links": _made_in("amem", "AMem", name="amem-without-links", link=False),
        "amem-without-evolution": _made_in(
            "amem", "AMem", name="amem-without-evolution", evolve=False
        ),
        "amem-without-both": _made_in(
            "amem", "AMem", name="amem-without-both", link=False, evolve=False
        ),
        "full-context": _made_in("plain", "FullContext"),
        "dense": _made_in("plain", "Dense"),
        "bm25": _made_in("plain", "Bm25"),
        "nothing": _made_in("plain", "Nothing"),
        "memorybank": _made_in("memorybank", "MemoryBank"),
        "readagent": _made_in("readagent", "ReadAgent"),
        "memgpt": _made_in("memgpt", "MemGPT"),
        "generative-agents": _made_in("generative_agents", "GenerativeAgents"),
    }
)
"""From a name to what makes the system; see `system.Factory`."""
