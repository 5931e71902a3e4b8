"""The error tree: one root, the standard kinds it also belongs to, and what errors carry."""

import copy
import inspect
import pickle
import re

import pytest

from amem_integrations import errors
from amem_integrations.errors import (
    AMemError,
    AnalysisError,
    InvalidFilterError,
    InvalidInputError,
    InvalidLineError,
    ModelUnavailableError,
    NoteNotFoundError,
    StoreError,
    StoreUnavailableError,
    loggable,
)

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__
]


def drawn_tree() -> dict[str, str]:
    """Child to parent, as the module's docstring draws it."""
    parents: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"(\W*)(\w+Error)\b", line):
            depth = len(found[1])
            above[depth] = found[2]
            if shallower := [other for other in above if other < depth]:
                parents[found[2]] = above[max(shallower)]
    return parents


def test_the_drawn_tree_is_the_real_one() -> None:
    real = {
        kind.__name__: next(base.__name__ for base in kind.__mro__[1:] if base in KINDS)
        for kind in KINDS
        if kind is not AMemError
    }
    assert drawn_tree() == real


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_can_be_caught_as_one(kind: type[Exception]) -> None:
    assert issubclass(kind, AMemError)


@pytest.mark.parametrize("kind", [InvalidInputError, InvalidFilterError])
def test_bad_input_is_a_value_error(kind: type[Exception]) -> None:
    with pytest.raises(ValueError, match="no good"):
        raise kind("no good")


def test_a_missing_note_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        raise NoteNotFoundError("No note x.")


def test_a_missing_note_is_told_without_quotes_around_the_sentence() -> None:
    assert str(NoteNotFoundError('No note "x" in calvin.')) == 'No note "x" in calvin.'
    assert str(NoteNotFoundError()) == ""


def failure() -> AnalysisError:
    return AnalysisError("too many", reason="rate-limited", retryable=True, retry_after=2.5)


@pytest.mark.parametrize(
    "through", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]
)
def test_a_failed_judgement_can_cross_to_another_process(through: object) -> None:
    error = failure()
    error.add_note("seen in a worker")
    there = through(error)  # type: ignore[operator]
    assert type(there) is AnalysisError
    assert str(there) == "too many"
    assert (there.reason, there.retryable, there.retry_after) == ("rate-limited", True, 2.5)
    assert there.__notes__ == ["seen in a worker"]


def test_a_failed_judgement_names_no_time_to_wait_unless_told() -> None:
    assert AnalysisError("x", reason="refusal", retryable=False).retry_after is None


def test_a_broken_line_keeps_its_number_in_another_process() -> None:
    there = pickle.loads(pickle.dumps(InvalidLineError("Line 3: no.", line=3)))
    assert (str(there), there.line) == ("Line 3: no.", 3)


def test_a_log_says_what_to_do_about_an_error_that_is_about_the_set_up() -> None:
    error = ModelUnavailableError("No such model. Remedies: …")
    assert loggable(error) == "ModelUnavailableError: No such model. Remedies: …"
    assert loggable(ModelUnavailableError()) == "ModelUnavailableError"


@pytest.mark.parametrize(
    "error",
    [
        InvalidInputError("secret"),
        StoreError("refused: secret"),
        StoreUnavailableError("status 500: secret"),
        AnalysisError("secret", reason="refusal", retryable=False),
        RuntimeError("secret"),
    ],
)
def test_a_log_says_only_the_type_of_an_error_that_may_quote_a_note(error: Exception) -> None:
    assert loggable(error) == type(error).__name__
