"""Names and libraries that are loaded on first use, so that importing a package loads little."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

# What to install for a library that is only needed for some names.
_REMEDIES = {
    "langchain": '"amem-integrations[langchain]"',
    "mcp": '"amem-integrations[mcp]"',
    "pytest": "pytest",
    "llama_index": '"amem-integrations[llama-index]"',
}


def import_library(name: str, *, extra: str) -> Any:
    """Import a library that an extra brings; raise ModuleNotFoundError that names the extra."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        raise ModuleNotFoundError(
            f"This needs {missing.partition('.')[0]}, which is not installed: "
            f'pip install "amem-integrations[{extra}]"',
            name=missing,
        ) from error


def attributes(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of `package`, for its `__init__` to bind.

    homes: the module of each name, relative to the package: ".memory", "..langchain.tools".
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(home, package), name)
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in _REMEDIES:
                raise
            raise ModuleNotFoundError(
                f"{name} needs {library}, which is not installed: pip install {_REMEDIES[library]}",
                name=error.name,
            ) from error
        # Found without this function from now on.
        setattr(import_module(package), name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *homes})

    return get, names
