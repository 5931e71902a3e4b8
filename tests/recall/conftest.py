import pytest

from tests.recall.canned import Canned


@pytest.fixture
def canned() -> Canned:
    return Canned()
