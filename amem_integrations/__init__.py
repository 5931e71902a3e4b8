"""Agentic memory that drops into LangGraph agents and LlamaIndex chat engines.

Text becomes a note, notes are linked and evolve, and recall follows the links (A-Mem,
arXiv 2502.12110). Importing this package loads no framework: names resolve on first use.
"""

from typing import TYPE_CHECKING

from amem_integrations.lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.errors import AMemError as AMemError
    from amem_integrations.lifecycle.policy import Policy as Policy
    from amem_integrations.memory import AgenticMemory as AgenticMemory
    from amem_integrations.note import Hit as Hit
    from amem_integrations.note import Link as Link
    from amem_integrations.note import Note as Note
    from amem_integrations.note import Revision as Revision
    from amem_integrations.note import Status as Status
    from amem_integrations.weaving import Woven as Woven
    from amem_integrations.working import MemoryWorker as MemoryWorker

_HOMES = {
    "AgenticMemory": ".memory",
    "AMemError": ".errors",
    "Hit": ".note",
    "Link": ".note",
    "MemoryWorker": ".working",
    "Note": ".note",
    "Policy": ".lifecycle.policy",
    "Revision": ".note",
    "Status": ".note",
    "Woven": ".weaving",
}

__all__ = [
    "AMemError",
    "AgenticMemory",
    "Hit",
    "Link",
    "MemoryWorker",
    "Note",
    "Policy",
    "Revision",
    "Status",
    "Woven",
]
__version__ = "0.1.0"

__getattr__, __dir__ = attributes(__name__, _HOMES)
