"""WordNet for METEOR: NLTK's data where it is installed, or else Debian's package wordnet-base."""

import io
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from amem_integrations.evaluation.qa.libraries import library

MISSING = (
    "METEOR needs WordNet: nltk.download('wordnet'), or Debian's package wordnet-base; it was "
    "not found here."
)
_DEBIAN = Path("/usr/share/wordnet")
_LEXICOGRAPHERS_FILES = 45


@cache
def wordnet(debian: Path = _DEBIAN) -> Any | None:
    """An NLTK reader of WordNet, or None where there is none."""
    installed = library("nltk.corpus").wordnet
    try:
        installed.ensure_loaded()
    except LookupError:
        return read_debian(debian) if (debian / "data.noun").is_file() else None
    return installed


def read_debian(root: Path) -> Any:
    """The reader of a directory as wordnet-base installs it."""
    reader: Any = library("nltk.corpus.reader.wordnet")

    class Reader(reader.WordNetCorpusReader):
        """What Debian leaves out is not needed to find synonyms."""

        def open(self, file: str) -> Any:
            if file != "lexnames":
                return reader.WordNetCorpusReader.open(self, file)
            numbers = range(_LEXICOGRAPHERS_FILES)
            return io.StringIO("".join(f"{number}\t{number}\t0\n" for number in numbers))

        def map_wn(self, version: str = "wordnet") -> None:
            """Numbers of other versions of WordNet."""

    # NLTK reads nothing from outside its own path.
    library("nltk.data").path.append(str(root))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is one language only
        return Reader(str(root), None)
