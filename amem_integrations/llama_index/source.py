"""Where an adapter's memory comes from: given by its builder, or opened on first use.

What travels when an adapter is serialised is the place, not the connection. Whoever restores it
gets the memory that is open in this process for that place, else opens one.
"""

import logging
import os
import threading
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from amem_integrations.errors import InvalidInputError
from amem_integrations.llama_index.forms import Form
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import FormationOptions, ServerOptions
from amem_integrations.recall.options import RecallOptions

_LOG = logging.getLogger(__name__)

# A key must not travel, and a clock cannot.
_STAYS = frozenset({"location", "api_key", "clock"})

_GROUPS: dict[str, Any] = {
    "formation_options": FormationOptions,
    "recall_options": RecallOptions,
    "server_options": ServerOptions,
}

_cores: WeakValueDictionary[str, AgenticMemory] = WeakValueDictionary()
_tokens: WeakKeyDictionary[AgenticMemory, str] = WeakKeyDictionary()


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

    async def opened(self, form: Form) -> AgenticMemory:
        """The memory, opened if it is not yet. Raises whatever opening raises."""
        return self.core or await form.blocking(self._opened)

    def _opened(self) -> AgenticMemory:
        with self._lock:
            if self.core is None:
                self.core = _found(self.place)
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
        for name, kind in _GROUPS.items():
            settings[name] = kind(**settings.get(name, {}))
        settings["model"] = self._llm or settings.get("model") or configured("llm")
        settings["embedder"] = (
            self._embed_model or settings.get("embedder") or configured("embed_model")
        )
        return AgenticMemory(location, **settings)


def choose(
    core: AgenticMemory | None,
    location: str | os.PathLike[str] | None,
    llm: Any,
    embed_model: Any,
) -> Source:
    """The caller's memory; without one, a memory of the adapter's own, opened now.

    A model that is not given is the one configured in LlamaIndex's `Settings`, if any.
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
        model=llm or configured("llm"),
        embedder=embed_model or configured("embed_model"),
    )
    return _known(core, owned=True)


def restored(place: Mapping[str, Any], llm: Any = None, embed_model: Any = None) -> Source:
    """The memory at a place that was serialised; if it is not open here, opened on first use."""
    # Taken hold of at once, or it might be gone with whoever was serialised.
    return Source(_found(place), place, owned=False, llm=llm, embed_model=embed_model)


def configured(name: str) -> Any:
    """`Settings.llm` or `Settings.embed_model` if someone has set it; asking would create one."""
    from llama_index.core import Settings

    return getattr(Settings, f"_{name}")


def _known(core: AgenticMemory, *, owned: bool) -> Source:
    options = core.options
    location = None
    if isinstance(options.location, str | os.PathLike):
        text = str(os.fspath(options.location))
        location = text if "://" in text else str(Path(text).resolve())
    place = {
        "location": location,
        "token": _tokens.setdefault(core, uuid.uuid4().hex) if location is None else None,
        "settings": _plain({k: v for k, v in vars(options).items() if k not in _STAYS})
        | {name: _plain(asdict(getattr(options, name))) for name in _GROUPS},
    }
    _cores[_name(place)] = core
    return Source(core, place, owned=owned)


def _found(place: Mapping[str, Any]) -> AgenticMemory | None:
    known = _cores.get(_name(place))
    return None if known is None or known.closed else known


def _name(place: Mapping[str, Any]) -> str:
    return f"{place['location'] or place['token']}#{place['settings']['collection']}"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what JSON cannot hold, such as a reranker object."""
    return {k: v for k, v in values.items() if v is None or isinstance(v, str | int | float)}
