"""Show a method that `sync_form` made as its callers see it: not async, without its own `io`.

An extension of griffe, named in mkdocs.yml.
"""

from typing import Any

import griffe


class MethodForms(griffe.Extension):
    """Changes the signatures of decorated methods."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        if any(str(decorator.value) == "sync_form" for decorator in func.decorators):
            func.labels.discard("async")
            me, _, *shown = func.parameters
            func.parameters = griffe.Parameters(me, *shown)
