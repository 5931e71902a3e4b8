"""Show a method that `sync_form` made as its callers see it: not async, and without `io`.

An extension of griffe, named in mkdocs.yml.
"""

from typing import Any

import griffe


class MethodForms(griffe.Extension):
    """Changes the signatures of decorated methods."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        if any(str(decorator.value) == "sync_form" for decorator in func.decorators):
            func.labels.discard("async")
            func.parameters = griffe.Parameters(
                *(parameter for parameter in func.parameters if parameter.name != "io")
            )
