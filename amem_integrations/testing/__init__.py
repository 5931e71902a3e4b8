"""What users need to test their agents and memories without a model, a key or a network.

Names resolve on first use, so that taking one loads only what that one needs.
"""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.testing.chat import Call as Call
    from amem_integrations.testing.chat import ScriptedChatModel as ScriptedChatModel
    from amem_integrations.testing.embedder import HashEmbedder as HashEmbedder
    from amem_integrations.testing.engine import EngineContract as EngineContract
    from amem_integrations.testing.script import ScriptExhaustedError as ScriptExhaustedError

_HOMES = {
    "Call": ".chat",
    "EngineContract": ".engine",
    "HashEmbedder": ".embedder",
    "ScriptExhaustedError": ".script",
    "ScriptedChatModel": ".chat",
}

__all__ = ["Call", "EngineContract", "HashEmbedder", "ScriptExhaustedError", "ScriptedChatModel"]

__getattr__, __dir__ = attributes(__name__, _HOMES)
