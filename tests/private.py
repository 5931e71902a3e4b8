"""Private parts of a memory, for tests of what no public call shows."""

from amem_integrations import AgenticMemory
from amem_integrations.core.io import IO
from amem_integrations.memory.build import MemoryParts
from amem_integrations.memory.wiring import Wiring


def io_of(memory: AgenticMemory) -> IO:
    return memory._sync


def aio_of(memory: AgenticMemory) -> IO:
    return memory._async


def wiring_of(memory: AgenticMemory) -> Wiring:
    return memory._wiring


def parts_of(memory: AgenticMemory) -> MemoryParts:
    return memory._parts
