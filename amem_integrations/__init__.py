"""Agentic memory that drops into LangGraph agents and LlamaIndex chat engines.

Text becomes a note, notes are linked and evolve, and recall follows the links (A-Mem,
arXiv 2502.12110). Importing this package loads no framework: names resolve on first use.
"""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.admin.health import Health as Health
    from amem_integrations.core.hit import Hit as Hit
    from amem_integrations.core.note import Link as Link
    from amem_integrations.core.note import Note as Note
    from amem_integrations.core.note import Revision as Revision
    from amem_integrations.core.note import Status as Status
    from amem_integrations.errors import AMemError as AMemError
    from amem_integrations.lifecycle.audits import Audit as Audit
    from amem_integrations.lifecycle.confidence import Explanation as Explanation
    from amem_integrations.lifecycle.consolidation import Consolidation as Consolidation
    from amem_integrations.lifecycle.policy import Policy as Policy
    from amem_integrations.memory.attachments import Attachment as Attachment
    from amem_integrations.memory.attachments import Captioning as Captioning
    from amem_integrations.memory.client import AgenticMemory as AgenticMemory
    from amem_integrations.memory.options import FormationOptions as FormationOptions
    from amem_integrations.memory.options import ServerOptions as ServerOptions
    from amem_integrations.memory.turns import TurnResult as TurnResult
    from amem_integrations.memory.worker import MemoryWorker as MemoryWorker
    from amem_integrations.recall.last import Recall as Recall
    from amem_integrations.recall.signals import RecallOptions as RecallOptions
    from amem_integrations.revisions.proposals import Proposal as Proposal

_HOMES = {
    "AgenticMemory": ".memory.client",
    "AMemError": ".errors",
    "Attachment": ".memory.attachments",
    "Audit": ".lifecycle.audits",
    "Captioning": ".memory.attachments",
    "Consolidation": ".lifecycle.consolidation",
    "FormationOptions": ".memory.options",
    "Explanation": ".lifecycle.confidence",
    "Health": ".admin.health",
    "Hit": ".core.hit",
    "Link": ".core.note",
    "MemoryWorker": ".memory.worker",
    "Note": ".core.note",
    "Policy": ".lifecycle.policy",
    "Proposal": ".revisions.proposals",
    "RecallOptions": ".recall.signals",
    "ServerOptions": ".memory.options",
    "Recall": ".recall.last",
    "Revision": ".core.note",
    "Status": ".core.note",
    "TurnResult": ".memory.turns",
}

__all__ = [
    "AMemError",
    "AgenticMemory",
    "Attachment",
    "Audit",
    "Captioning",
    "Consolidation",
    "Explanation",
    "FormationOptions",
    "Health",
    "Hit",
    "Link",
    "MemoryWorker",
    "Note",
    "Policy",
    "Proposal",
    "Recall",
    "RecallOptions",
    "Revision",
    "ServerOptions",
    "Status",
    "TurnResult",
]
__version__ = "0.1.0"

__getattr__, __dir__ = attributes(__name__, _HOMES)
