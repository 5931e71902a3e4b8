from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amem_integrations.evaluation.qa.model import LineStore


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[LineStore]:
    """What a run keeps."""
    with closing(LineStore(tmp_path / "answers.jsonl")) as lines:
        yield lines
