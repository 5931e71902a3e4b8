"""What is kept, and what is logged, of a formation that failed."""

import logging

import pytest

from amem_integrations.errors import AMemError, AnalysisError, ModelUnavailableError
from amem_integrations.formation.steps import failure

ABSENT = ModelUnavailableError("It is not here: pip install it.")
REFUSED = AnalysisError("The model said: secret", reason="refusal", retryable=False)


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (ABSENT, "ModelUnavailableError: It is not here: pip install it."),
        (REFUSED, "refusal"),
        (ValueError("secret"), "ValueError"),
        (AMemError("secret"), "AMemError"),
    ],
)
def test_the_log_says_what_to_do_and_nothing_that_may_quote_a_note(
    error: Exception, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        failure(error)
    assert caplog.messages == [f"An analysis failed ({logged}); the note stays as it is."]
