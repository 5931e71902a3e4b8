"""What is public: all that a reader may import and call, by the name to import it by.

Public are the names in `__all__` of the modules below, the values that these hand out, and the
methods and properties of public classes, without those that a framework's base class asks for.
Tests of docstrings and of the reference pages go by this.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

PACKAGE = "amem_integrations"

MODULES = (
    "amem_integrations",
    "amem_integrations.errors",
    "amem_integrations.langgraph",
    "amem_integrations.langchain",
    "amem_integrations.llama_index",
    "amem_integrations.plots",
    "amem_integrations.formation.state",
    "amem_integrations.core.analysis",
    "amem_integrations.core.io",
    "amem_integrations.analysts.statistical",
    "amem_integrations.recall.options",
    "amem_integrations.evaluation.ablation",
    "amem_integrations.evaluation.ingest",
    "amem_integrations.evaluation.questions",
    "amem_integrations.evaluation.reading",
    "amem_integrations.evaluation.recall",
    "amem_integrations.evaluation.report",
    "amem_integrations.evaluation.qa.system",
    "amem_integrations.testing",
    "amem_integrations.testing.llama_index",
)
"""The modules that the README and the notebooks import from; each has an `__all__`."""

VALUES = {
    "amem_integrations.evaluation.dataset": ("Conversation", "Dataset", "Question", "Turn"),
    "amem_integrations.core.usage": ("Usage", "UsageReport"),
    "amem_integrations.lifecycle.audits": ("Lineage", "Trace"),
    "amem_integrations.admin.check": ("Finding",),
    "amem_integrations.admin.figures": ("Figure",),
    "amem_integrations.revisions.forget": ("Forgotten",),
    "amem_integrations.admin.import_": ("Imported",),
    "amem_integrations.lifecycle.lineage": ("Undone",),
    "amem_integrations.lifecycle.maintain": ("Maintained",),
    "amem_integrations.lifecycle.plan": ("Archival", "Distillation", "Merge"),
    "amem_integrations.core.note": ("Change",),
    "amem_integrations.plots.activity": ("ActivityData",),
    "amem_integrations.plots.embedding": ("MapData",),
    "amem_integrations.plots.graph": ("GraphData",),
    "amem_integrations.plots.trajectories": ("TrajectoryData",),
    "amem_integrations.memory.remembering": ("About",),
    "amem_integrations.core.status": ("Life", "Tier"),
    "amem_integrations.memory.turns": ("Idea",),
}
"""What public functions take and return, and nobody has to import."""


def public_names() -> dict[str, Any]:
    """Every public name, dotted, with what it stands for; a member's is that of its class, too."""
    names: dict[str, Any] = {}
    for module, exported in exports():
        for name in exported:
            value = getattr(import_module(module), name)
            names[f"{module}.{name}"] = value
            if inspect.isclass(value):
                names |= {f"{module}.{name}.{part}": each for part, each in members(value).items()}
    return names


def exports() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The public modules, each with its public names."""
    for module in MODULES:
        yield module, tuple(import_module(module).__all__)
    yield from VALUES.items()


def members(kind: type) -> dict[str, Any]:
    """Methods and properties of a class of ours, its bases of ours included.

    Not those that a framework's base class has with the same parameters, and says what they do.
    """
    ours = [base for base in kind.__mro__ if base.__module__.startswith(PACKAGE)]
    theirs = [base for base in kind.__mro__ if base not in ours and base is not object]
    found: dict[str, Any] = {}
    for base in reversed(ours):
        for name, each in vars(base).items():
            public = not name.startswith(("_", "test_"))
            if public and isinstance(each, FunctionType | classmethod | staticmethod | property):
                found[name] = getattr(kind, name)
    return {
        name: each
        for name, each in found.items()
        if not any(_adds_nothing(each, getattr(base, name, None)) for base in theirs)
    }


def _adds_nothing(ours: Any, theirs: Any) -> bool:
    if theirs is None or isinstance(theirs, property):
        return theirs is not None
    given = inspect.signature(theirs).parameters
    anything = any(each.kind is each.VAR_KEYWORD for each in given.values())
    return anything or set(inspect.signature(ours).parameters) <= set(given)
