"""The store of a LangGraph server, for its `langgraph.json`.

    {"store": {"path": "amem_integrations.langgraph.platform.open_store"}}

The server reads the module's own attributes, so `open_store` is one.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from amem_integrations.errors import InvalidInputError
from amem_integrations.langgraph.store import AMemStore


@asynccontextmanager
async def open_store() -> AsyncGenerator[AMemStore]:
    """Open the store that the environment names, and close it when the server ends.

    AMEM_LOCATION is a directory or a Qdrant server's URL; AMEM_COLLECTION, AMEM_API_KEY and
    AMEM_MODEL are the arguments `collection`, `api_key` and `model` of `AgenticMemory`. For other
    settings, write such a function with `AMemStore.afrom_url`.

    Raises:
        InvalidInputError: AMEM_LOCATION is not set.
        StoreError: the store cannot be opened.
        ModelUnavailableError: the model or embedder cannot be had.
    """
    location = os.environ.get("AMEM_LOCATION")
    if not location:
        raise InvalidInputError(
            "AMEM_LOCATION is not set. Set it to a directory, or to the URL of a Qdrant server."
        )
    names = ("collection", "api_key", "model")
    found = {name: os.environ.get(f"AMEM_{name.upper()}") for name in names}
    settings = {name: value for name, value in found.items() if value}
    async with AMemStore.afrom_url(location, **settings) as store:
        yield store
