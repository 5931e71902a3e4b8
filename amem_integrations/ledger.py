"""What happened, counted: model calls, tokens, failures, whatever was dropped or retried.

Nothing here is persisted and no content is kept: names of events and numbers only.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from amem_integrations.judgement import ChatReply
from amem_integrations.namespace import Namespace


@dataclass(frozen=True, slots=True)
class Usage:
    """Model calls and what they took.

    seconds: wall time spent waiting. unmetered: calls whose model reported no tokens.
    """

    calls: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    unmetered: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.failures + other.failures,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.seconds + other.seconds,
            self.unmetered + other.unmetered,
        )


class Ledger:
    """Counters shared by every operation of one memory; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: Counter[str] = Counter()
        self._usage: dict[tuple[Namespace, str], Usage] = {}

    def count(self, event: str, n: int = 1) -> None:
        if n:
            with self._lock:
                self._events[event] += n

    def model_call(self, namespace: Namespace, step: str, reply: ChatReply) -> None:
        self._add(
            namespace,
            step,
            Usage(
                calls=1,
                tokens_in=reply.tokens_in or 0,
                tokens_out=reply.tokens_out or 0,
                seconds=reply.seconds,
                unmetered=int(reply.tokens_in is None),
            ),
        )

    def model_failure(self, namespace: Namespace, step: str, seconds: float) -> None:
        self._add(namespace, step, Usage(calls=1, failures=1, seconds=seconds, unmetered=1))

    def _add(self, namespace: Namespace, step: str, usage: Usage) -> None:
        with self._lock:
            key = (namespace, step)
            self._usage[key] = self._usage.get(key, Usage()) + usage

    def events(self) -> Mapping[str, int]:
        with self._lock:
            return dict(self._events)

    def usage(self, namespace: Namespace | None = None) -> Mapping[str, Usage]:
        """Usage by step, of one namespace or of all, with the sum under "total"."""
        with self._lock:
            entries = list(self._usage.items())
        steps: dict[str, Usage] = {}
        total = Usage()
        for (owner, step), usage in entries:
            if namespace is None or owner == namespace:
                steps[step] = steps.get(step, Usage()) + usage
                total += usage
        return {**steps, "total": total}
