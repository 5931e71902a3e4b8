"""Where an adapter's memory comes from: given by the caller, or opened on first use.

The address of a memory is serialised with an adapter, the connection is not. Whoever restores it
gets the memory that is open in this process at that address, else opens one.
"""

import asyncio
import logging
import os
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from llama_index.core import Settings

from amem_integrations.core.io import IO
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import FormationOptions, ServerOptions
from amem_integrations.memory.wiring import Wiring
from amem_integrations.recall.signals import RecallOptions

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

# A key must not be serialised, and a clock cannot be.
_NOT_SERIALISED = frozenset({"location", "api_key", "clock"})

_OPTIONS: dict[str, Any] = {
    "formation_options": FormationOptions,
    "recall_options": RecallOptions,
    "server_options": ServerOptions,
}

_cores: WeakValueDictionary[str, AgenticMemory] = WeakValueDictionary()
_tokens: WeakKeyDictionary[AgenticMemory, str] = WeakKeyDictionary()


class Perform(Protocol):
    """One of the two forms of `Source.perform`."""

    async def __call__(self, operation: Callable[[Wiring, IO], Coroutine[Any, Any, T]], /) -> T: ...


class Source:
    """The AgenticMemory of an adapter.

    place: how to find or open it; JSON-native, without any key or model object.
    owned: whether the adapter opened it, and so closes it.
    """

    def __init__(
        self,
        core: AgenticMemory | None,
        place: Mapping[str, Any],
        *,
        owned: bool,
        llm: Any = None,
        embed_model: Any = None,
    ) -> None:
        self.core = core
        self.place = dict(place)
        self.owned = owned
        self._llm = llm
        self._embed_model = embed_model
        self._lock = threading.Lock()

    async def perform(self, operation: Callable[[Wiring, IO], Coroutine[Any, Any, T]], /) -> T:
        """Run an operation on the memory, opened on first use. This form never suspends."""
        return self.open().perform(operation)

    async def aperform(self, operation: Callable[[Wiring, IO], Coroutine[Any, Any, T]], /) -> T:
        """`perform`, awaited for real."""
        core = self.core or await asyncio.to_thread(self.open)
        return await core.aperform(operation)

    def open(self) -> AgenticMemory:
        """Return the memory, opened if it is not yet. Raises whatever opening raises."""
        with self._lock:
            if self.core is None:
                self.core = _find(self.place)
            if self.core is None:
                self.core, self.owned = self._open(), True
                _cores[_name(self.place)] = self.core
            return self.core

    def _open(self) -> AgenticMemory:
        location, settings = self.place["location"], dict(self.place["settings"])
        if location is None:
            _LOG.warning(
                "The notes of this memory were in a temporary directory that is gone; it starts "
                "without any. Give AMemMemory a location to keep them."
            )
        elif "://" not in location and not Path(location).exists():
            _LOG.warning("%s is gone; its memory starts without any notes.", location)
        for name, options in _OPTIONS.items():
            settings[name] = options(**settings.get(name, {}))
        settings["model"] = self._llm or settings.get("model") or _configured_llm()
        settings["embedder"] = (
            self._embed_model or settings.get("embedder") or _configured_embed_model()
        )
        return AgenticMemory(location, **settings)


def choose_source(
    core: AgenticMemory | None,
    location: str | os.PathLike[str] | None,
    llm: Any,
    embed_model: Any,
) -> Source:
    """Return the caller's memory; without one, a memory of the adapter's own, opened now.

    A model that is not given is taken from LlamaIndex's `Settings`, if one is set there.
    """
    if core is not None:
        if not (location is None and llm is None and embed_model is None):
            raise InvalidInputError(
                "core= has its own location and models; leave out location, llm and embed_model, "
                "or give those to AgenticMemory(location, model=…, embedder=…)."
            )
        return _known(core, owned=False)
    core = AgenticMemory(
        location,
        model=llm or _configured_llm(),
        embedder=embed_model or _configured_embed_model(),
    )
    return _known(core, owned=True)


def restore_source(place: Mapping[str, Any], llm: Any = None, embed_model: Any = None) -> Source:
    """Return the memory at a serialised place; if it is not open here, it opens on first use."""
    # Held at once, or it might be gone with whoever was serialised.
    return Source(_find(place), place, owned=False, llm=llm, embed_model=embed_model)


# Asking `Settings` for a model that nobody set would create one.
def _configured_llm() -> Any:
    return Settings._llm  # pyright: ignore[reportPrivateUsage]


def _configured_embed_model() -> Any:
    return Settings._embed_model  # pyright: ignore[reportPrivateUsage]


def _known(core: AgenticMemory, *, owned: bool) -> Source:
    options = core.options
    location = None
    if isinstance(options.location, str | os.PathLike):
        text = str(os.fspath(options.location))
        location = text if "://" in text else str(Path(text).resolve())
    place = {
        "location": location,
        "token": _tokens.setdefault(core, uuid.uuid4().hex) if location is None else None,
        "settings": _plain({k: v for k, v in vars(options).items() if k not in _NOT_SERIALISED})
        | {name: _plain(asdict(getattr(options, name))) for name in _OPTIONS},
    }
    _cores[_name(place)] = core
    return Source(core, place, owned=owned)


def _find(place: Mapping[str, Any]) -> AgenticMemory | None:
    known = _cores.get(_name(place))
    return None if known is None or known.closed else known


def _name(place: Mapping[str, Any]) -> str:
    return f"{place['location'] or place['token']}#{place['settings']['collection']}"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that JSON can hold."""
    return {k: v for k, v in values.items() if v is None or isinstance(v, str | int | float)}
