"""The libraries that draw and compute, loaded on use; which extra brings them when they are not."""

from importlib import import_module
from typing import Any


def library(name: str) -> Any:
    """The module called `name`. Raises ModuleNotFoundError that names the extra."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        raise ModuleNotFoundError(
            f"Pictures need {missing.partition('.')[0]}, which is not installed: "
            'pip install "amem-integrations[plots]"',
            name=missing,
        ) from error
