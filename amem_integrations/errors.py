"""Every error the package raises on purpose, as one small tree.

    AMemError
    ├── InvalidInputError       a value the caller gave cannot be used
    │   ├── InvalidFilterError  a filter that means nothing to us
    │   └── InvalidLineError    a line of an import that is none of an export
    ├── NoteNotFoundError       no note has that id in that namespace
    ├── StoreError              the place where notes are kept
    │   ├── StoreClosedError      used after close(), or after a fork
    │   ├── StoreLockedError      another process holds the directory
    │   ├── StoreUnavailableError server down, slow or refusing us; may pass
    │   ├── StoreMismatchError    written with another schema or embedder
    │   ├── StoreCorruptError     the files are damaged
    │   └── StoreWriteError       read-only or full
    └── ModelError              whoever judges or embeds
        ├── ModelUnavailableError no such model, no key, no hub, package missing
        ├── EmbeddingError        an embedder returned something that is not a vector
        └── AnalysisError         a judgement could not be had; says whether it may pass

Each message says what was wrong, with what, and what to do about it.
"""

from functools import partial
from typing import Any

__all__ = [
    "AMemError",
    "AnalysisError",
    "EmbeddingError",
    "InvalidFilterError",
    "InvalidInputError",
    "InvalidLineError",
    "ModelError",
    "ModelUnavailableError",
    "NoteNotFoundError",
    "StoreClosedError",
    "StoreCorruptError",
    "StoreError",
    "StoreLockedError",
    "StoreMismatchError",
    "StoreUnavailableError",
    "StoreWriteError",
]


class AMemError(Exception):
    """Base class of every error raised on purpose by this package.

    Its message says what was wrong, with what, and what to do about it.

    Examples:
        >>> from amem_integrations import AMemError
        >>> try:
        ...     memory.add("   ")
        ... except AMemError as error:
        ...     print(type(error).__name__, error)
        InvalidInputError content is empty or blank; there is nothing to remember.
    """


class InvalidInputError(AMemError, ValueError):
    """A value given by the caller cannot be used; nothing was stored or changed."""


class InvalidFilterError(InvalidInputError):
    """A filter with an unknown operator or an operand of the wrong type."""


class InvalidLineError(InvalidInputError):
    """A line to import cannot be used; what stands before it was imported.

    Attributes:
        message: what is wrong with it.
        line: its number, from 1.

    Examples:
        >>> from amem_integrations.errors import InvalidLineError
        >>> try:
        ...     memory.admin.import_(["not an export"])
        ... except InvalidLineError as error:
        ...     print(error.line)
        1
    """

    def __init__(self, message: str, *, line: int) -> None:
        super().__init__(message)
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), line=self.line), self.args, self.__dict__


class NoteNotFoundError(AMemError, KeyError):
    """No note with this id exists in the namespace."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message, quotes and all.
        return str(self.args[0]) if self.args else ""


class StoreError(AMemError):
    """The store could not do what was asked."""


class StoreClosedError(StoreError):
    """The store was closed, or belongs to the process this one was forked from."""


class StoreLockedError(StoreError):
    """Another process has this directory open."""


class StoreUnavailableError(StoreError):
    """The server cannot be reached, is too slow, too old, or refuses the credentials."""


class StoreMismatchError(StoreError):
    """The collection was written with another schema, embedder or dimension.

    Attributes:
        message: what it was written with, and what to do.
        embedder: the one it was written with, where that is what differs.
        dimension: likewise.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.errors import StoreMismatchError
        >>> from amem_integrations.testing import HashEmbedder
        >>> AgenticMemory("./memory", embedder=HashEmbedder(256)).close()
        >>> try:
        ...     AgenticMemory("./memory", embedder=HashEmbedder(64))
        ... except StoreMismatchError as error:
        ...     print(error.embedder, error.dimension)
        hash-256 256
    """

    def __init__(
        self, message: str, *, embedder: str | None = None, dimension: int | None = None
    ) -> None:
        super().__init__(message)
        self.embedder = embedder
        self.dimension = dimension

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(type(self), embedder=self.embedder, dimension=self.dimension)
        return rebuild, self.args, self.__dict__


class StoreCorruptError(StoreError):
    """The files of the store are damaged."""


class StoreWriteError(StoreError):
    """The store cannot be written: read-only, or no space left."""


class ModelError(AMemError):
    """A model could not do what was asked."""


class ModelUnavailableError(ModelError):
    """The model does not exist, cannot be fetched, or its package is not installed."""


class EmbeddingError(ModelError):
    """An embedder returned the wrong number of vectors, a wrong size, or NaN."""


class AnalysisError(ModelError):
    """A judgement could not be had from the model.

    Attributes:
        message: what happened.
        reason: a short stable word for counting ("refusal", "timeout", "unparsable", …).
        retryable: whether the same request may succeed later.
        retry_after: in how many seconds, when the provider said so.

    Examples:
        >>> from amem_integrations.errors import AnalysisError
        >>> error = AnalysisError("The model is busy.", reason="rate_limit", retryable=True)
        >>> error.retryable, error.retry_after
        (True, None)
    """

    def __init__(
        self, message: str, *, reason: str, retryable: bool, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is rebuilt from its positional arguments; these are keywords.
        rebuild = partial(type(self), reason=self.reason, retryable=self.retryable)
        return rebuild, self.args, self.__dict__


# The messages of the others may quote what a caller, a server or an engine said.
_QUOTES_NO_NOTE = (
    ModelUnavailableError,
    EmbeddingError,
    StoreClosedError,
    StoreLockedError,
    StoreMismatchError,
)


def loggable(error: BaseException) -> str:
    """What a log may say of an error: its type, and its message where that can quote no note."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, _QUOTES_NO_NOTE) and str(error) else name
