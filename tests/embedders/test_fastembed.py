"""fastembed models by name: the packaged weights, the cache, the hub that is not there."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from amem_integrations.embedders import fastembed as module
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.embedders.embedder import NamedEmbedder
from amem_integrations.embedders.model_files import Once, check_files, hub_problem, package_dir
from amem_integrations.errors import ModelUnavailableError

OFFLINE = package_dir(module.OFFLINE_MODULE)
needs_weights = pytest.mark.skipif(OFFLINE is None, reason="extra [offline] is not installed")

SAME = [
    ("I'm allergic to peanuts", "I cannot eat nuts, they make me ill"),
    ("The meeting moved to Tuesday", "We'll meet on Tuesday instead"),
    ("The cache evicts what was least recently used", "LRU is the cache's eviction policy"),
]
UNRELATED = [
    ("I'm allergic to peanuts", "The meeting moved to Tuesday"),
    ("We'll meet on Tuesday instead", "LRU is the cache's eviction policy"),
    ("The cache evicts what was least recently used", "I cannot eat nuts, they make me ill"),
]


def cosine(embedder: NamedEmbedder, pair: tuple[str, str]) -> float:
    a, b = embedder.embed_documents(list(pair))
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.fixture(name="unshared")
def models_are_loaded_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_loaded", {})


# -- the packaged weights ----------------------------------------------------------------------


@needs_weights
def test_same_meaning_is_nearer_than_unrelated() -> None:
    embedder = resolve_embedder()
    same = [cosine(embedder, pair) for pair in SAME]
    unrelated = [cosine(embedder, pair) for pair in UNRELATED]
    assert min(same) > max(unrelated) + 0.3


@needs_weights
def test_vectors_have_unit_length_and_do_not_depend_on_their_company() -> None:
    embedder = resolve_embedder()
    alone = embedder.embed_query("a short text")
    among = embedder.embed_documents(["word " * 200, "a short text", "another"])[1]
    assert sum(x * x for x in alone) == pytest.approx(1.0, abs=1e-5)
    assert among == pytest.approx(alone, abs=1e-6)
    # A passage of 200 words is read to its end.
    passage = "word " * 200
    assert embedder.embed_query(passage + "peanuts") != embedder.embed_query(passage + "meeting")


@needs_weights
def test_any_text_gets_a_vector() -> None:
    texts = ["", "\x00", "a\ud800b", "🎉" * 10, "ع" * 100, "x" * 2_000_000]
    assert {len(vector) for vector in resolve_embedder().embed_documents(texts)} == {384}


@needs_weights
async def test_loading_and_embedding_leave_the_loop_free(unshared: None) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await resolve_embedder().aembed_query("hello")
    ticking.cancel()
    assert ticks > 3


@needs_weights
def test_the_packaged_weights_need_nothing_writable(tmp_path: Path) -> None:
    """A home that cannot be made, and a temporary directory that stays empty."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    child(
        "from amem_integrations.embedders.dense import resolve_embedder\n"
        "assert len(resolve_embedder().embed_query('a')) == 384",
        HOME="/dev/null",
        XDG_CACHE_HOME="/dev/null/cache",
        TMPDIR=str(temporary),
    )
    assert not list(temporary.iterdir())


def test_weights_that_are_not_the_known_ones_are_not_used(
    tmp_path: Path, unshared: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"something else")

    def installed(name: str) -> Path:
        return tmp_path

    monkeypatch.setattr(module, "package_dir", installed)
    with pytest.raises(ModelUnavailableError, match=r"not the file we know.*force-reinstall"):
        resolve_embedder().embed_query("a")
    with pytest.raises(ModelUnavailableError, match="unreadable"):
        check_files(tmp_path, {"gone.bin": "00"}, distribution="some-package==1")


# -- names -------------------------------------------------------------------------------------


def test_a_value_is_made_once_for_all_threads_and_again_only_after_a_failure() -> None:
    outcomes = iter([OSError("not yet"), "made"])
    gate = threading.Barrier(8)

    def make() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    once = Once(make)
    with pytest.raises(OSError, match="not yet"):
        once()
    values: list[str] = []
    threads = [
        threading.Thread(target=lambda: (gate.wait(), values.append(once()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == ["made"] * 8


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("BAAI/bge-smal-en", "'BAAI/bge-small-en'"),
        ("zzz", None),
        ("openai:text-embedding-3-small", None),
    ],
)
def test_an_unknown_name_is_answered_with_close_ones_and_where_the_list_is(
    name: str, close: str | None
) -> None:
    with pytest.raises(ModelUnavailableError, match="list_supported_models") as refused:
        resolve_embedder(name)
    assert ("Did you mean" in str(refused.value)) is (close is not None)
    assert close is None or close in str(refused.value)


@pytest.mark.parametrize(
    ("name", "knows_chinese"),
    [
        ("BAAI/bge-small-en-v1.5", False),
        ("BAAI/bge-small-zh-v1.5", True),
        ("jinaai/jina-embeddings-v2-base-zh", True),
        ("jinaai/jina-embeddings-v2-base-de", False),
        ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", True),
        ("intfloat/multilingual-e5-large", True),
    ],
)
def test_which_languages_a_model_knows_is_read_from_its_description(
    name: str, knows_chinese: bool
) -> None:
    assert resolve_embedder(name).covers("我对花生过敏") is knows_chinese


# -- the cache and the hub ---------------------------------------------------------------------


@needs_weights
def test_a_cached_model_is_used_without_the_hub_and_reads_as_far_as_the_packaged_one(
    tmp_path: Path,
) -> None:
    """The weights as fastembed's own download lays them out, with its limit of 128 tokens."""
    assert OFFLINE is not None
    repository = tmp_path / "models--Qdrant--all-MiniLM-L6-v2-onnx"
    revision = "0" * 40
    snapshot = repository / "snapshots" / revision
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision)
    (snapshot / "model.onnx").symlink_to(OFFLINE / "model.onnx")
    (snapshot / "tokenizer.json").symlink_to(module.TOKENIZER_DIR / "tokenizer.json")
    config = {"model_max_length": 512, "max_length": 128, "pad_token": "[PAD]"}
    (snapshot / "tokenizer_config.json").write_text(json.dumps(config))
    child(
        "from amem_integrations.embedders import fastembed as module\n"
        "text = 'word ' * 180 + 'peanuts'\n"
        "packaged = module.fastembed_by_name(module.DEFAULT).embed_query(text)\n"
        "module.package_dir = lambda name: None\n"
        "module._loaded.clear()\n"
        "cached = module.fastembed_by_name(module.DEFAULT).embed_query(text)\n"
        "assert max(abs(a - b) for a, b in zip(packaged, cached)) < 1e-6",
        FASTEMBED_CACHE_PATH=str(tmp_path),
        HF_ENDPOINT="http://127.0.0.1:9",
    )


REFUSES = "http://127.0.0.1:9"


def test_without_the_hub_the_error_names_the_remedies(tmp_path: Path) -> None:
    error = child(
        """
from amem_integrations.errors import ModelUnavailableError
from amem_integrations.embedders import fastembed as module
module.package_dir = lambda name: None
for name in (module.DEFAULT, "BAAI/bge-small-zh-v1.5"):
    try:
        module.fastembed_by_name(name).embed_query("a")
    except ModelUnavailableError as error:
        print(error)
""",
        FASTEMBED_CACHE_PATH=str(tmp_path),
        HF_ENDPOINT=REFUSES,
    )
    lines = error.splitlines()
    assert len(lines) == 2
    for line, name in zip(lines, (module.DEFAULT, "BAAI/bge-small-zh-v1.5"), strict=True):
        assert name in line
        for remedy in ("amem-integrations[offline]", "HF_ENDPOINT", "FASTEMBED_CACHE_", REFUSES):
            assert remedy in line


def test_a_hub_that_is_set_offline_or_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = threading.Event()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub_problem("some/model") == "HF_HUB_OFFLINE is set"
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.model_info", lambda repository, timeout: stuck.wait())
    problem = hub_problem("some/model", seconds=0.05)
    stuck.set()
    assert problem is not None
    assert "no answer within 0.05 s" in problem
    assert hub_problem("some/model") is None


def child(script: str, **environment: str) -> str:
    """Output of `script` in a new interpreter: the libraries read their settings on import."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, **environment},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
