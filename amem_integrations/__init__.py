"""Agentic memory that drops into LangGraph agents and LlamaIndex chat engines.

Text becomes a note, notes are linked and evolve, and recall follows the links (A-Mem,
arXiv 2502.12110). Importing this package loads no framework: names resolve on first use.
"""

from typing import TYPE_CHECKING

from amem_integrations.lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.attachments import Attachment as Attachment
    from amem_integrations.attachments import Captioning as Captioning
    from amem_integrations.errors import AMemError as AMemError
    from amem_integrations.formation.waiting import Proposal as Proposal
    from amem_integrations.lifecycle.audit import Audit as Audit
    from amem_integrations.lifecycle.confidence import Explanation as Explanation
    from amem_integrations.lifecycle.health import Health as Health
    from amem_integrations.lifecycle.plan import Consolidation as Consolidation
    from amem_integrations.lifecycle.policy import Policy as Policy
    from amem_integrations.memory import AgenticMemory as AgenticMemory
    from amem_integrations.note import Hit as Hit
    from amem_integrations.note import Link as Link
    from amem_integrations.note import Note as Note
    from amem_integrations.note import Revision as Revision
    from amem_integrations.note import Status as Status
    from amem_integrations.recalls import Recall as Recall
    from amem_integrations.weaving import Woven as Woven
    from amem_integrations.working import MemoryWorker as MemoryWorker

_HOMES = {
    "AgenticMemory": ".memory",
    "AMemError": ".errors",
    "Attachment": ".attachments",
    "Audit": ".lifecycle.audit",
    "Captioning": ".attachments",
    "Consolidation": ".lifecycle.plan",
    "Explanation": ".lifecycle.confidence",
    "Health": ".lifecycle.health",
    "Hit": ".note",
    "Link": ".note",
    "MemoryWorker": ".working",
    "Note": ".note",
    "Policy": ".lifecycle.policy",
    "Proposal": ".formation.waiting",
    "Recall": ".recalls",
    "Revision": ".note",
    "Status": ".note",
    "Woven": ".weaving",
}

__all__ = [
    "AMemError",
    "AgenticMemory",
    "Attachment",
    "Audit",
    "Captioning",
    "Consolidation",
    "Explanation",
    "Health",
    "Hit",
    "Link",
    "MemoryWorker",
    "Note",
    "Policy",
    "Proposal",
    "Recall",
    "Revision",
    "Status",
    "Woven",
]
__version__ = "0.1.0"

__getattr__, __dir__ = attributes(__name__, _HOMES)
