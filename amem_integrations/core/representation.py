"""How values show themselves at a prompt and in a debugger: by what is not as usual in them.

`note` calls it. What a program or a page shows of a note is its own business.
"""

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def brief(value: "DataclassInstance") -> str:
    """The `repr` of a dataclass, without the fields that have their default."""
    shown = (
        f"{field.name}={held!r}"
        for field in fields(value)
        if field.repr
        and ((held := getattr(value, field.name)) != field.default or field.default is MISSING)
    )
    return f"{type(value).__name__}({', '.join(shown)})"
