from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_integrations.evaluation.dataset import Dataset
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.recall import Filled, QuestionEmbedder, fill, timed
from tests.evaluation.samples import lines, written
from tests.support import EMBEDDER, open_memory


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Two conversations, four and three turns, three questions."""
    return read_dataset(written(tmp_path / "data.jsonl", lines()))


@pytest.fixture
def filled(dataset: Dataset) -> Iterator[tuple[Filled, QuestionEmbedder]]:
    named, questions = timed(EMBEDDER)
    with open_memory(embedder=named, formation="off") as memory:
        yield fill(memory, dataset), questions
