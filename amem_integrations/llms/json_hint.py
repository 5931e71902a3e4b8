"""Asking in words for an answer that fits a schema, for models that cannot be held to one.

The families of chat models use it for their least binding way of asking.
"""

import json
from collections.abc import Sequence

from amem_integrations.core.analysis import Message


def with_schema(messages: Sequence[Message], schema: dict[str, object]) -> list[Message]:
    """The messages, with a request for one JSON object of `schema` in the system message."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    hint = f"Answer with one JSON object and nothing else. Its JSON schema: {text}"
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n{hint}"), *messages[1:]]
    return [Message("system", hint), *messages]
