"""The notebook runs offline, and its cells print what it shows."""

from tests.llama_index.support import LLAMA_INDEX_WARNS
from tests.notebooks import run_notebook

pytestmark = LLAMA_INDEX_WARNS


def test_every_cell_prints_what_the_notebook_shows() -> None:
    names, printed = run_notebook("llamaindex_chat.ipynb")
    assert names["core"].closed
    assert "Your boat is called Susie." in printed[5]
    assert "You have not told me." in printed[5]
