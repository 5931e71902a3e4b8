"""Docstrings of public names: what they have to say, and that their examples are true.

Their style is the one that the reference pages are built from: a summary of one line, then
sections of Google's form (Args, Attributes, Returns, Raises, Examples) as griffe reads them.
An async form refers to its sync form, "`search`, awaited", which then speaks for both.
"""

import ast
import builtins
import doctest
import enum
import inspect
import re
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, is_typeddict

import griffe
import pytest
from griffe import DocstringSectionKind as Kind

from amem_integrations import AgenticMemory, AMemError, errors
from amem_integrations.embedders import resolve
from amem_integrations.embedders.resolve import resolve_embedder
from amem_integrations.memory import build as assembly
from amem_integrations.stores.read import namespaces
from tests.pool import POOL
from tests.public import PACKAGE, exports, public_names
from tests.support import EMBEDDER, open_memory

NAMES = public_names()
EXPORTED = [f"{module}.{name}" for module, names in exports() for name in names]
OPERATIONS = [name for name in NAMES if name.startswith(f"{PACKAGE}.AgenticMemory.")]
ADAPTERS = ("langgraph", "langchain", "llama_index")
READ = {Kind.text, Kind.parameters, Kind.attributes, Kind.returns, Kind.yields, Kind.raises}
RAISES_NOTHING = {"close", "closed", "count_event"}
NEEDS_MORE = {"aopen", "accept", "apply", "copy_to", "feedback_from_reply", "pack", "reject"}


@cache
def docstring(name: str) -> str:
    """As it was written, not as it is inherited; of a constant, the text below it."""
    value = NAMES[name]
    if inspect.isclass(value):
        return inspect.cleandoc(vars(value).get("__doc__") or "")
    if inspect.isroutine(value) or isinstance(value, property):
        return inspect.cleandoc(value.__doc__ or "")
    module, _, constant = name.rpartition(".")
    body = ast.parse(inspect.getsource(import_module(module))).body
    for statement, following in pairwise(body):
        target = getattr(statement, "target", None) or getattr(statement, "targets", [None])[0]
        if getattr(target, "id", None) == constant:
            text = following.value if isinstance(following, ast.Expr) else None
            return inspect.cleandoc(ast.literal_eval(text)) if text else ""
    return ""


@cache
def sections(name: str) -> list[Any]:
    return griffe.Docstring(docstring(name)).parse("google", warnings=False)


def summary(name: str) -> str:
    return docstring(name).partition("\n\n")[0]


def owner(name: str) -> Any:
    return NAMES.get(name.rpartition(".")[0])


def described(name: str) -> set[str]:
    """The parameters and fields that its docstring describes."""
    wanted = (Kind.parameters, Kind.attributes)
    told = {part.name for each in sections(name) if each.kind in wanted for part in each.value}
    if is_protocol(owner(name)):
        # Who implements one reads it as a whole.
        home = name.rpartition(".")[0]
        told.update(re.findall(r"`(\w+)`", docstring(name) + docstring(home)))
    return told


def referred(name: str) -> set[str]:
    """It, and the public names that its summary names, `method` or `Class.method`; and theirs."""
    found: set[str] = set()
    waiting = {name}
    while waiting:
        each = waiting.pop()
        found.add(each)
        home = each.rpartition(".")[0]
        words = re.findall(r"`([\w.]+)`", summary(each))
        spoken = {f"{home}.{word}" for word in words} & NAMES.keys()
        ends = tuple(f".{word}" for word in words if "." in word)
        waiting |= (spoken | {other for other in NAMES if ends and other.endswith(ends)}) - found
    return found


def parameters(name: str) -> set[str]:
    """What a caller can give, or a reader find: arguments, or the fields of a value."""
    value = NAMES[name]
    if not inspect.isclass(value):
        return signature(value) if inspect.isroutine(value) else set()
    if is_typeddict(value):
        return set(value.__annotations__)
    if issubclass(value, enum.Enum):
        return set(value.__members__)
    ours = [base for base in value.__mro__ if base.__module__.startswith(PACKAGE)]
    declared = {field for base in ours for field in vars(base).get("__annotations__", ())}
    fields = declared & set(getattr(value, "model_fields", ()))
    made = any("__init__" in vars(base) for base in ours) and not is_protocol(value)
    return fields | (signature(value.__init__) if made else set())


def signature(function: Any) -> set[str]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    return {stars.get(each.kind, "") + each.name for each in found if each.name != "self"}


def is_protocol(value: Any) -> bool:
    return getattr(value, "_is_protocol", False)


def raised(name: str) -> set[str]:
    return {
        part.annotation
        for each in sections(name)
        if each.kind is Kind.raises
        for part in each.value
    }


def examples(name: str) -> str:
    """The code of its examples."""
    return "".join(each.source for each in doctest.DocTestParser().get_examples(docstring(name)))


def is_async_form(name: str) -> bool:
    home, _, own = name.rpartition(".")
    return own.startswith("a") and f"{home}.{own[1:]}" in NAMES


def test_a_docstring_begins_with_one_line_that_sums_up() -> None:
    wrong = [name for name in NAMES if not re.fullmatch(r".+[.:]", summary(name))]
    assert not wrong


def test_docstrings_have_only_sections_that_the_reference_pages_show() -> None:
    found = {(name, each.kind) for name in NAMES for each in sections(name)}
    assert not {(name, kind) for name, kind in found if kind not in {*READ, Kind.examples}}


def test_a_docstring_describes_every_parameter_and_field() -> None:
    missing: dict[str, set[str]] = {}
    for name in NAMES:
        told = set[str]().union(*map(described, referred(name)))
        if left := parameters(name) - told:
            missing[name] = left
    assert not missing


def test_a_docstring_describes_no_parameter_that_is_not_there() -> None:
    wrong = {
        name: left
        for name in NAMES
        if inspect.isroutine(NAMES[name])
        and not is_protocol(owner(name))
        and (left := described(name) - parameters(name))
    }
    assert not wrong


def test_what_a_docstring_says_is_raised_is_an_error() -> None:
    known = {*errors.__all__, *dir(builtins), "ScriptExhaustedError"}
    assert not {name: left for name in NAMES if (left := raised(name) - known)}


def test_every_operation_of_a_memory_says_which_errors_of_ours_it_raises() -> None:
    silent = [
        name
        for name in OPERATIONS
        if not is_async_form(name)
        and name.rpartition(".")[2] not in RAISES_NOTHING
        and not raised(name) & set(errors.__all__)
    ]
    assert not silent


def called(memory: AgenticMemory, name: str, note: Any, namespace: Any) -> None:
    """Call an operation with what it must be given, and with what it may be about."""
    given = {
        "query": "tea",
        "content": "tea",
        "filter": {"speaker": "Ada"},
        "items": ["tea"],
        "lines": ["{}"],
        "notes": note,
        "decision": "keep",
        "operation": lambda _, io: namespaces(io),
        "note": note,
        "namespace": namespace,
    }
    operation = getattr(memory, name)
    wanted = inspect.signature(operation).parameters
    found = operation(**{each: value for each, value in given.items() if each in wanted})
    if inspect.isgenerator(found):
        list(found)


@pytest.mark.parametrize(
    ("closed", "note", "namespace"),
    [(True, "no such note", "house"), (False, "no such note", "house"), (False, 3, 3)],
)
def test_operations_raise_what_their_docstrings_say(
    closed: bool, note: Any, namespace: Any
) -> None:
    unsaid: dict[str, str] = {}
    raising = 0
    with open_memory() as memory:
        if closed:
            memory.close()
        for name in OPERATIONS:
            own = name.rpartition(".")[2]
            if is_async_form(name) or own in {*RAISES_NOTHING, *NEEDS_MORE}:
                continue
            try:
                called(memory, own, note, namespace)
            except AMemError as error:
                raising += 1
                if not raised(name) & {kind.__name__ for kind in type(error).__mro__}:
                    unsaid[own] = type(error).__name__
    assert not unsaid
    assert raising >= 10


def test_every_public_class_and_function_has_an_example() -> None:
    without = [
        name
        for name in EXPORTED
        if (inspect.isclass(NAMES[name]) or inspect.isroutine(NAMES[name]))
        and not (is_error(NAMES[name]) and "__init__" not in vars(NAMES[name]))
        and not examples(name)
    ]
    assert not without


def is_error(value: Any) -> bool:
    # How to catch them is the example of the class that all of them are of.
    return inspect.isclass(value) and issubclass(value, Exception) and value is not AMemError


def test_every_operation_of_a_memory_has_an_example_in_one_of_its_forms() -> None:
    assert not [name for name in OPERATIONS if not is_async_form(name) and not examples(name)]


def test_every_method_of_an_adapter_is_used_in_its_examples() -> None:
    unused: list[str] = []
    for name in NAMES:
        if name.split(".")[1] not in ADAPTERS or not inspect.isclass(owner(name)):
            continue
        home, _, own = name.rpartition(".")
        shown = "".join(examples(each) for each in NAMES if each.startswith(home))
        sync = own[1:] if is_async_form(name) else own
        if not re.search(rf"\.a?{sync}\b", shown):
            unused.append(name)
    assert not unused


def test_examples_stand_in_their_section() -> None:
    found = {
        name: sum(
            text.count(">>>")
            for each in sections(name)
            if each.kind is Kind.examples
            for kind, text in each.value
        )
        for name in NAMES
    }
    assert found == {name: docstring(name).count(">>>") for name in NAMES}


WITH_EXAMPLES = {docstring(name): name for name in NAMES if ">>>" in docstring(name)}
"""By its text, so that what has two names runs once."""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What an example sees: an empty memory and directory; the default embedder needs no model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(resolve, "_by_name", lambda name, threads: resolve_embedder(EMBEDDER))
    monkeypatch.setattr(assembly, "open_store", partial(open_pooled, assembly.open_store))
    with open_memory() as memory:
        yield {"memory": memory}


def open_pooled(open_store: Any, location: Any, *, encoders: Any, **settings: Any) -> Any:
    """A temporary store is one of the pool, which is quicker than a new one."""
    if location is None and encoders.embedder == EMBEDDER.name:
        location = POOL.directory(EMBEDDER)
    return open_store(location, encoders=encoders, **settings)


@pytest.mark.parametrize("name", WITH_EXAMPLES.values())
def test_the_examples_are_true(name: str, session: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(docstring(name), session, name, None, 0)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    said: list[str] = []
    assert not runner.run(test, out=said.append, clear_globs=False).failed, "".join(said)
