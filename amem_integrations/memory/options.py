"""Options of `AgenticMemory`, grouped by concern and checked when they are made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from amem_integrations.core.io import Analyst
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import FORMATIONS, Formation
from amem_integrations.formation.state import Mode
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.recall.signals import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.stores.open import Location, check_api_key

__all__ = ["FormationOptions", "ServerOptions"]

MODES = ("fused", "staged", "batched", "auto")
MAX_BATCH = 32


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        wanted = ", ".join(repr(choice) for choice in choices)
        raise InvalidInputError(f"{name} is one of {wanted}; got {value!r}.")


def _is_number(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


class NoteFields(TypedDict, total=False):
    """What a caller may say about a note besides its content, by keyword or as keys of an item.

    Attributes:
        key: the caller's name for the note; the same key is the same note.
        speaker: who said it.
        session: the conversation it was said in.
        sequence: its position in the session; None: the next one, if it has a session or speaker.
            In a list whose notes of a session all have `occurred_at` and none a sequence, they
            follow each other in time. Notes without a session are one session of their namespace.
        occurred_at: when it happened; a naive datetime counts as UTC. Its offset is kept, and says
            which day it was.
        source: "user", "assistant", "tool", "import" or "web"; with `lifecycle` it sets how far the
            note is trusted. None: unknown, unless the speaker is a role of a chat ("user",
            "human", "assistant", "ai", "tool", "function") or one of `Policy.users`.
        metadata: any JSON object; returned exactly and usable in filters.

    Examples:
        >>> fields = {"speaker": "Ada", "session": "standup", "sequence": 1}
        >>> memory.add("The product page takes four seconds", **fields).speaker
        'Ada'
    """

    key: str | None
    speaker: str | None
    session: str | None
    sequence: int | None
    occurred_at: datetime | None
    source: str | None
    metadata: Mapping[str, Any] | None


class NoteAddress(TypedDict, total=False):
    """Where a verb finds its note, if it is not given the note itself.

    Attributes:
        key: the note's key, instead of the note or its id.
        namespace: the namespace of an id or key; None: ("default",).

    Examples:
        >>> note = memory.add("Tea is served at four", key="tea", namespace="house")
        >>> memory.get(key="tea", namespace="house") == memory.get(note)
        True
    """

    key: str | None
    namespace: str | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class FormationOptions:
    """How notes are formed.

    Attributes:
        instructions: domain vocabulary and rules, shown to the model.
        link: whether notes are linked.
        evolve: whether new notes change keywords, tags and context of older ones.
        neighbours: the maximum number of candidates offered for linking; None: 5 for a model, 8
            without one.
        batch: the maximum number of notes in one question of `mode="batched"` and "auto"
            (1 to 32).
        concurrency: how many namespaces are formed at the same time in the background.
        model_timeout: seconds that the model may take for an answer, whatever its own timeout.
        trace_content: whether LangChain's callbacks (LangSmith, OpenTelemetry, your own) see
            prompts, answers and state of formation. Otherwise they see its runs without content.

    Raises:
        InvalidInputError: a value is out of range.

    Examples:
        >>> from amem_integrations import FormationOptions
        >>> FormationOptions(neighbours=3).batch
        8
    """

    instructions: str | None = None
    link: bool = True
    evolve: bool = True
    neighbours: int | None = None
    batch: int = 8
    concurrency: int = 4
    model_timeout: float = 120.0
    trace_content: bool = False

    def __post_init__(self) -> None:
        counts = {"concurrency": self.concurrency}
        if self.neighbours is not None:
            counts["neighbours"] = self.neighbours
        for name, value in counts.items():
            if not (_is_number(value, int) and value >= 1):
                raise InvalidInputError(f"{name} is at least 1; got {value!r}.")
        if not (_is_number(self.model_timeout, int | float) and self.model_timeout > 0):
            raise InvalidInputError(
                f"model_timeout is a number of seconds above 0; got {self.model_timeout!r}."
            )
        if not (_is_number(self.batch, int) and 1 <= self.batch <= MAX_BATCH):
            raise InvalidInputError(f"batch is 1 to {MAX_BATCH} notes; got {self.batch!r}.")
        if not isinstance(self.instructions, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"instructions are text, or None; got {type(self.instructions).__name__}."
            )


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a Qdrant server is reached.

    Attributes:
        timeout: seconds that a request may take.
        prefer_grpc: whether gRPC is used instead of HTTP.
        grpc_port: the server's port for gRPC.

    Examples:
        >>> from amem_integrations import ServerOptions
        >>> ServerOptions(timeout=30).prefer_grpc
        False
    """

    timeout: float = 10.0
    prefer_grpc: bool = False
    grpc_port: int = 6334

    def __post_init__(self) -> None:
        if not (_is_number(self.grpc_port, int) and 0 < self.grpc_port < 65_536):
            raise InvalidInputError(
                f"grpc_port is a port number from 1 to 65535; got {self.grpc_port!r}."
            )


@dataclass(frozen=True)
class Options:
    """All arguments of `AgenticMemory`, checked."""

    location: Location
    model: Any
    analyst: Analyst | None
    embedder: Any
    collection: str
    formation: Formation
    mode: Mode
    lifecycle: bool | Policy
    api_key: str | None = field(repr=False)
    clock: Callable[[], datetime] | None
    formation_options: FormationOptions = FormationOptions()
    recall_options: RecallOptions = DEFAULT_OPTIONS
    server_options: ServerOptions = ServerOptions()

    def __post_init__(self) -> None:
        check_choice("formation", self.formation, FORMATIONS)
        check_choice("mode", self.mode, MODES)
        for name, kind in (
            ("formation_options", FormationOptions),
            ("recall_options", RecallOptions),
            ("server_options", ServerOptions),
        ):
            if not isinstance(getattr(self, name), kind):
                got = type(getattr(self, name)).__name__
                raise InvalidInputError(f"{name} is a {kind.__name__}, or None; got {got}.")
        if self.clock is not None and not callable(self.clock):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidInputError(
                f"clock is a function that returns the time; got {type(self.clock).__name__}."
            )
        check_api_key(self.api_key)
