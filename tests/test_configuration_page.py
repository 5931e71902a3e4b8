"""The page on configuration names every setting, with the default that it has, and no other."""

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any

import pytest
import typer.main
from langgraph.store.base import TTLConfig

from amem_integrations import (
    AgenticMemory,
    Captioning,
    MemoryWorker,
    Policy,
    langchain,
    langgraph,
    llama_index,
)
from amem_integrations.cli.app import app
from amem_integrations.core import json_value
from amem_integrations.core import namespace as namespaces
from amem_integrations.core import note as notes
from amem_integrations.formation import commit, queue, validate, worker
from amem_integrations.llama_index import notes as messages
from amem_integrations.memory import build as assembly
from amem_integrations.memory import items
from amem_integrations.memory.client import About
from amem_integrations.recall import search
from amem_integrations.recall.options import RecallOptions
from amem_integrations.stores.edge import shards
from amem_integrations.stores.filters import language
from amem_integrations.stores.server import transport
from tests.pages import page, rows, sections, source_texts

SECTIONS = sections(page("configuration.md"))
NAMED = {
    found[0]: text for head, text in SECTIONS.items() if (found := re.findall("`(.+?)`", head))
}

SIGNATURES: Mapping[str, Callable[..., Any]] = {
    "AgenticMemory": AgenticMemory,
    "MemoryWorker": MemoryWorker,
    "Captioning": Captioning,
    "Policy": Policy,
    "RecallOptions": RecallOptions,
    "langgraph.AMemStore": langgraph.AMemStore,
    "langgraph.AMemStore.from_url": langgraph.AMemStore.from_url,
    "langgraph.AMemStore.search": langgraph.AMemStore.search,
    "langgraph.AMemMiddleware": langgraph.AMemMiddleware,
    "langgraph.create_memory_graph": langgraph.create_memory_graph,
    "langchain.create_memory_tools": langchain.create_memory_tools,
    "langchain.AMemRetriever": langchain.AMemRetriever,
    "langchain.AMemKeyValueStore": langchain.AMemKeyValueStore,
    "llama_index.AMemMemory": llama_index.AMemMemory.from_defaults,
    "llama_index.AMemMemoryBlock": llama_index.AMemMemoryBlock,
    "llama_index.AMemRetriever": llama_index.AMemRetriever,
    "llama_index.create_memory_tools": llama_index.create_memory_tools,
}

FIXED: Mapping[str, object] = {
    "flush interval": shards.FLUSH_AFTER,
    "spare room": f"{shards.SPARE // 1024**2} MB",
    "lease": queue.LEASE,
    "own poll": assembly._POLL,
    "attempts": commit.MAX_ATTEMPTS,
    "attempts in an outage": commit.MAX_ATTEMPTS_IN_OUTAGE,
    "first pause": commit._FIRST_PAUSE.total_seconds(),
    "longest pause": commit._LONGEST_PAUSE,
    "closing": worker.CLOSING,
    "content": f"{notes.MAX_CONTENT_BYTES:,} bytes",
    "metadata, value": f"{json_value.MAX_BYTES:,} bytes",
    "item key": f"{items.MAX_KEY_BYTES:,} bytes",
    "namespace": f"{namespaces.MAX_ENCODED_BYTES:,} bytes",
    "keywords, tags": notes.MAX_KEYWORDS,
    "context": f"{notes.MAX_CONTEXT_CHARS:,} characters",
    "links of a judgement": validate.MAX_LINKS,
    "filter": f"{language.MAX_TESTS:,} tests",
    "query": f"{search.MAX_EMBEDDED_CHARS:,} characters",
    "server requests": f"{transport._ATTEMPTS} attempts",
    "waiting messages": f"{messages.MAX_WAITING:,}",
}


def shown(value: object) -> str:
    """A default as the page shows it, between backticks."""
    match value:
        case timedelta():
            days, seconds = value.days, value.seconds
            count, unit = (days, "day") if days else (seconds // 3600, "hour")
            if not count:
                count, unit = seconds // 60, "minute"
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
        case StrEnum():
            return shown(str(value))
        case str():
            return f'"{value}"'
        case tuple():
            return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
        case Mapping():
            return f"{{{', '.join(f'{shown(key)}: {shown(held)}' for key, held in value.items())}}}"
        case _:
            return repr(value)


def default(parameter: inspect.Parameter) -> str:
    found = parameter.default
    if found is parameter.empty:
        return "none" if parameter.kind is parameter.VAR_KEYWORD else "required"
    if type(found).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
        found = getattr(Policy(), parameter.name)
    return f"`{shown(found)}`"


def parameters(function: Callable[..., Any]) -> dict[str, str]:
    return {
        name: default(each)
        for name, each in inspect.signature(function).parameters.items()
        if name != "self" and each.kind is not each.VAR_POSITIONAL
    }


def told(section: str) -> dict[str, str]:
    """Name and default of each row."""
    return {row[0].strip("`"): row[1] for row in rows(section)}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_page_has_every_setting_with_its_default(name: str) -> None:
    assert told(NAMED[name]) == parameters(SIGNATURES[name])


def test_every_public_name_of_the_adapters_is_on_the_page() -> None:
    public = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in (langgraph, langchain, llama_index)
        for name in module.__all__
    }
    # One function under two names.
    assert public - {"langgraph.create_memory_tools"} <= SIGNATURES.keys()
    assert langgraph.create_memory_tools is langchain.create_memory_tools


def test_the_page_has_every_default_of_every_call() -> None:
    found = {
        (name, each): value
        for name, call in inspect.getmembers(AgenticMemory, inspect.isfunction)
        if name[0] != "_" and not inspect.iscoroutinefunction(call)
        for each, value in parameters(call).items()
        if value not in ("required", "none") and each != "namespace"
    }
    table = rows(NAMED["AgenticMemory.*"])
    assert {(row[0].strip("`"), row[1].strip("`")): row[2] for row in table} == found
    namespaced = inspect.signature(AgenticMemory.add).parameters["namespace"]
    assert default(namespaced) in NAMED["AgenticMemory.*"]


def test_the_page_has_all_that_may_be_said_of_a_note() -> None:
    assert told(NAMED["About"]) == dict.fromkeys(About.__annotations__, "`None`")


def test_the_page_has_every_setting_of_a_time_to_live() -> None:
    assert told(NAMED["TTLConfig"]).keys() == TTLConfig.__annotations__.keys()


def test_the_page_has_what_commands_have_in_common_and_what_workers_take() -> None:
    group: Any = typer.main.get_command(app)
    options = {
        max(each.opts, key=len): "required" if each.required else f"`{shown(each.default)}`"
        for each in group.commands["work"].params
    }
    shared = told(SECTIONS["The command line"])
    assert told(NAMED["amem work"]) == {
        name: value for name, value in options.items() if name not in shared
    }
    namespaced = {name: value for name, value in shared.items() if name != "--namespace"}
    assert namespaced.items() <= options.items()
    assert "--namespace" in {each for one in group.commands["add"].params for each in one.opts}


def test_environment_variables_are_those_that_the_package_reads_or_names() -> None:
    source = "\n".join(source_texts().values())
    listed = told(SECTIONS["Environment variables"]).keys()
    assert set(re.findall(r'(?:envvar=|environ\.get\()"(\w+)"', source)) <= listed
    assert [name for name in listed if name not in source] == []


def test_what_cannot_be_set_is_as_the_page_says() -> None:
    listed = told(SECTIONS["What cannot be set"])
    assert listed.keys() == FIXED.keys()
    for name, value in FIXED.items():
        expected = value if isinstance(value, str) else shown(value).removesuffix(".0")
        assert listed[name].removesuffix(" s") == expected, name
