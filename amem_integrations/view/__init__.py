"""Read-only pages to browse a memory with, for `amem view`, served to this machine only."""
