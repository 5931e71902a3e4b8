"""Private parts of a memory, for tests of what no public call shows."""

from amem_integrations import AgenticMemory
from amem_integrations.core.io import IO
from amem_integrations.memory.build import Assembly
from amem_integrations.memory.pipeline import Rooms


def io_of(memory: AgenticMemory) -> IO:
    return memory._sync


def aio_of(memory: AgenticMemory) -> IO:
    return memory._async


def rooms_of(memory: AgenticMemory) -> Rooms:
    return memory._rooms


def assembly_of(memory: AgenticMemory) -> Assembly:
    return memory._assembly
