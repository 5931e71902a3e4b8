"""A memory as a server of the Model Context Protocol, for any client that speaks it.

Needs the extra `mcp`; importing this package does not.
"""

from typing import TYPE_CHECKING

from amem_integrations._lazy import attributes

if TYPE_CHECKING:
    from amem_integrations.mcp.server import create_mcp_server as create_mcp_server

__all__ = ["create_mcp_server"]

__getattr__, __dir__ = attributes(__name__, {"create_mcp_server": ".server"})
