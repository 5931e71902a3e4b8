"""The libraries that measure answers, loaded on use; which extra brings them when they are not."""

from importlib import import_module
from typing import Any

from amem_integrations.errors import ModelUnavailableError


def library(name: str) -> Any:
    """The module called `name`. Raises ModelUnavailableError that names the extra."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).partition(".")[0]
        raise ModelUnavailableError(
            f"Measuring answers needs {missing}, which is not installed: "
            'pip install "amem-integrations[eval]"'
        ) from error
