"""The background worker: whatever happens to it, whoever waits for it gets an answer."""

from collections.abc import Callable

import pytest

from amem_integrations.errors import StoreClosedError, StoreUnavailableError
from amem_integrations.formation.worker import Worker


def forming(*results: bool | BaseException) -> Callable[[], bool]:
    """Gives or raises each in turn, then says that nothing is waiting."""
    left = list(results)

    def form_next() -> bool:
        result = left.pop(0) if left else False
        if isinstance(result, BaseException):
            raise result
        return result

    return form_next


def test_flush_waits_until_nothing_is_waiting() -> None:
    formed: list[int] = []

    def form_next() -> bool:
        formed.append(1)
        return len(formed) < 5

    worker = Worker(form_next)
    assert not worker.started
    assert worker.flush(5)
    assert worker.started
    assert len(formed) == 5
    worker.close()


@pytest.mark.parametrize(
    "error", [StoreUnavailableError("down"), KeyError("a defect"), SystemExit(1), GeneratorExit()]
)
def test_an_error_is_waited_out_and_the_thread_lives_on(error: BaseException) -> None:
    worker = Worker(forming(error, True))
    assert worker.flush(10)
    worker.close()


def test_a_closed_store_ends_the_worker_and_whoever_waits() -> None:
    worker = Worker(forming(StoreClosedError("closed")))
    assert worker.flush(5)
    worker.close()


def test_flush_says_when_it_took_too_long() -> None:
    worker = Worker(lambda: True)
    assert not worker.flush(0.05)
    worker.close()
