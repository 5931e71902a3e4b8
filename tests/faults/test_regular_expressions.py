"""No regular expression of the package takes more than linear time, whatever the text.

The package is read by machine only: every pattern that a module holds or a source writes is run, by
the methods that are called on it, on texts made of what the pattern itself is made of.
"""

import ast
import importlib
import itertools
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType, ModuleType
from typing import Any

import amem_integrations
from amem_integrations.analysts.languages import LANGUAGES, language

METHODS: Mapping[str, str] = {
    **dict.fromkeys(("sub", "subn", "split", "findall", "finditer"), "sub"),
    **{name: name for name in ("search", "match", "fullmatch")},
}
ALL = frozenset({"search", "sub", "fullmatch"})
SIZE, LARGEST = 2000, 16_000
SLOW = 0.05
"""Seconds of CPU; what takes less is no harm, however it grows."""
GIVEN_UP = 0.5
COMMON = (
    "a",
    "1",
    " ",
    ".",
    '"',
    "\n",
    "a ",
    "a.",
    "1,",
    "中",
    "Thought:",
    "\x1b]",
    "\x1b[",
    "```",
)
LETTERS = "aZ1 _.-,:;'\"`<>()[]{}/\\\n\t\x1b\x07中\u0301"


def test_every_regular_expression_is_linear() -> None:
    patterns = _patterns()
    assert len(patterns) > 50, "most were not found"
    found = []
    for pattern, (where, methods) in patterns.items():
        for method in sorted(methods):
            slow = next(filter(None, (_slow(pattern, method, t) for t in _texts(pattern))), None)
            if slow:
                found.append(f"{where}: {pattern.pattern[:90]!a} .{method}: {slow}")
    assert not found, "\n".join([f"{len(found)} are not linear:", *found])


def test_the_regular_expressions_of_each_language_are_linear() -> None:
    for name in LANGUAGES:
        known = language(name)
        held = [*_held([*vars(known).values()]), known.chinese]
        assert len(held) > 4
        for pattern in held:
            slow = next(filter(None, (_slow(pattern, "sub", t) for t in _texts(pattern))), None)
            assert not slow, f"{name}: {pattern.pattern[:90]!a}: {slow}"


def test_what_is_not_linear_is_noticed() -> None:
    for source in (r"\s+$", r"(a+)+$", "\x1b\\].*?\x07", r"<[^>]*>", r"a*b", r"(?:x|y|xy)*z"):
        pattern = re.compile(source)
        assert any(_slow(pattern, "search", text) for text in _texts(pattern)), source
    for source in (r"\s", r"[a-z]+", r"<[^<>]{0,60}>", r"a|b", r"(?<!\s)\s+", r"\w+\b"):
        pattern = re.compile(source)
        assert not any(_slow(pattern, "sub", text) for text in _texts(pattern)), source


# Which patterns there are ----------------------------------------------------------------------


def _patterns() -> dict[re.Pattern[str], tuple[str, frozenset[str]]]:
    """Each pattern with where it stands and how it is used; all ways where that is not known."""
    where: dict[re.Pattern[str], str] = {}
    used: dict[re.Pattern[str], set[str]] = {}
    unknown: set[re.Pattern[str]] = set()
    for module in _modules():
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for name, value in vars(module).items():
            for pattern in _held(value):
                if isinstance(pattern.pattern, str):
                    where.setdefault(pattern, f"{module.__name__}.{name}")
                    if pattern is not value:
                        unknown.add(pattern)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            owner = _value(node.value, module)
            if isinstance(owner, re.Pattern) and node.attr in METHODS:
                used.setdefault(owner, set()).add(METHODS[node.attr])
        for pattern, method, line in _written(tree, module):
            where.setdefault(pattern, f"{module.__name__}:{line}")
            if method is not None:
                used.setdefault(pattern, set()).add(method)
    return {
        pattern: (
            place,
            ALL if pattern in unknown or pattern not in used else frozenset(used[pattern]),
        )
        for pattern, place in where.items()
    }


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(amem_integrations.__path__, "amem_integrations."):
        if not found.name.endswith("__main__"):
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError:  # of an extra that is not installed
                continue


def _held(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for each in list(value.values()):
            yield from _held(each, depth - 1)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _held(each, depth - 1)
    elif isinstance(value, type) and value.__module__.startswith("amem_integrations"):
        for each in vars(value).values():
            yield from _held(each, 0)


def _written(
    tree: ast.AST, module: ModuleType
) -> Iterator[tuple[re.Pattern[str], str | None, int]]:
    """Patterns in calls of `re`, with the method; None for `re.compile`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *_]):
                source = _value(first, module)
                flags = [
                    _value(each.value, module) for each in node.keywords if each.arg == "flags"
                ]
                if attr == "compile" and len(node.args) > 1:
                    flags.append(_value(node.args[1], module))
                if isinstance(source, str) and (attr == "compile" or attr in METHODS):
                    made = re.compile(source, flags[0] if flags and flags[0] else 0)
                    yield made, METHODS.get(attr), node.lineno


def _value(node: ast.expr, module: ModuleType) -> Any:
    """What an expression of names, constants and operators is worth in a module, or None."""
    allowed = (
        ast.Name | ast.Attribute | ast.Constant | ast.JoinedStr | ast.FormattedValue | ast.BinOp
    )
    parts = [each for each in ast.walk(node) if isinstance(each, ast.expr)]
    if not all(isinstance(each, allowed) for each in parts):
        return None
    try:
        return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(vars(module)))
    except Exception:
        return None


# What they are run on --------------------------------------------------------------------------


def _texts(pattern: re.Pattern[str]) -> Iterator[Callable[[int], str]]:
    """Makers of texts of about n characters, of what the pattern is made of."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    samples = _samples(tree)[:12]
    letters = list(dict.fromkeys([*_letters(tree), *COMMON[:6]]))[:14]
    starts = {sample[:end] for sample in samples for end in range(1, min(len(sample), 10) + 1)}
    runs = dict.fromkeys([*letters, *samples, *sorted(starts), *COMMON])
    runs |= dict.fromkeys(one + two for one in letters[:7] for two in letters[:7] if one != two)
    for run in filter(None, runs):
        yield lambda n, run=run: run * (n // len(run) + 1) + "\x00!"
    for start in sorted({*starts, *samples} - {""})[:12]:
        for letter in letters[:10]:
            yield lambda n, start=start, letter=letter: start + letter * n + "\x00"
            yield (
                lambda n, start=start, letter=letter: (start + letter) * (n // (len(start) + 1) + 1)
            )


def _letters(tree: Iterable[Any]) -> Iterator[str]:
    for operator, argument in tree:
        if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.CATEGORY):
            yield from _atom(operator, argument)
        else:
            for part in _parts(operator, argument):
                yield from _letters(part)


def _samples(tree: Iterable[Any]) -> list[str]:
    """Short texts that a pattern matches, or nearly: each alternative once."""
    made = [""]
    for operator, argument in tree:
        if operator in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY, sre.CATEGORY):
            new = list(_atom(operator, argument))[:3]
        elif operator in (sre.ASSERT_NOT, sre.AT):
            continue
        else:
            new = [each for part in _parts(operator, argument) for each in _samples(part)]
            if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
                new = [each * max(1, min(argument[0], 4)) for each in new]
        first = new[0] if new else ""
        made = [each + first for each in made] + [made[0] + each for each in new[1:]]
        made = made[:40]
    return made


def _parts(operator: Any, argument: Any) -> list[Any]:
    """The patterns within a node of the tree."""
    if operator is sre.BRANCH:
        return list(argument[1])
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, tuple | list):
        return [each for each in argument if isinstance(each, parser.SubPattern)]
    return []


def _atom(operator: Any, argument: Any) -> Iterator[str]:
    """Characters that an atom matches, those that it names first, then one that it does not."""
    if operator is sre.LITERAL:
        yield chr(argument)
        return
    named = LETTERS
    if operator is sre.IN:
        for inner, value in reversed(argument):
            if inner in (sre.LITERAL, sre.RANGE):
                named = chr(value if inner is sre.LITERAL else value[0]) + named
    fitting = [letter for letter in named if _fits(operator, argument, letter)]
    yield from dict.fromkeys(fitting)
    yield from [letter for letter in named if letter not in fitting][:1]


def _fits(operator: Any, argument: Any, letter: str) -> bool:
    if operator is sre.ANY:
        return letter != "\n"
    if operator is sre.NOT_LITERAL:
        return letter != chr(argument)
    if operator is sre.CATEGORY:
        return _in_category(argument, letter)
    negated, fits = False, False
    for inner, value in argument:
        if inner is sre.NEGATE:
            negated = True
        elif inner is sre.LITERAL:
            fits |= letter == chr(value)
        elif inner is sre.RANGE:
            fits |= value[0] <= ord(letter) <= value[1]
        elif inner is sre.CATEGORY:
            fits |= _in_category(value, letter)
    return fits != negated


def _in_category(category: Any, letter: str) -> bool:
    name = str(category).rsplit("CATEGORY_", 1)[-1]
    escape = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.removeprefix("NOT_")]
    return (re.match(escape, letter) is None) == name.startswith("NOT_")


# How long they take ----------------------------------------------------------------------------


def _slow(pattern: re.Pattern[str], method: str, text: Callable[[int], str]) -> str | None:
    """Say so if four times the text takes more than ten times the work, and long."""
    call = getattr(pattern, method)
    run: Callable[[str], Any] = (lambda each: call("", each)) if method == "sub" else call
    seen = 0.0
    for size in (SIZE, LARGEST):
        if size == LARGEST and seen < SLOW / 50:
            return None
        started = time.thread_time()
        if _cpu(run, text(size), runs=1) == GIVEN_UP:
            return f"{text(40)[:40]!a}… {size} characters: more than {GIVEN_UP} s"
        seen = time.thread_time() - started
        if seen > SLOW:
            now, quarter = (min(_cpu(run, text(n)) for _ in "123") for n in (size, size // 4))
            if now > SLOW and now > 10 * quarter:
                each = f"{size} characters: {now:.2f} s, a quarter: {quarter:.4f} s"
                return f"{text(40)[:40]!a}… {each}"
    return None


def _cpu(run: Callable[[str], Any], text: str, runs: int = 20) -> float:
    """Seconds of CPU of one run: of as many as it takes to tell, since clocks may tick slowly."""
    started = time.process_time()
    for done in itertools.count(1):
        try:
            with _Alarm():
                run(text)
        except TimeoutError:
            return GIVEN_UP
        spent = time.process_time() - started
        if spent > SLOW or done == runs:
            return spent / done
    raise AssertionError


class _Alarm:
    """Stop a search that takes longer than `GIVEN_UP` seconds of CPU."""

    def __enter__(self) -> None:
        self.old = signal.signal(signal.SIGVTALRM, self._stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, GIVEN_UP)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, self.old)

    @staticmethod
    def _stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError
