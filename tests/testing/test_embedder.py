"""HashEmbedder: nearness by shared words, the same everywhere."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from amem_integrations.testing import HashEmbedder

SAME = [
    ("We decided on an LRU eviction policy for the cache", "Which eviction policy is cached?"),
    ("Melanie is planning a camping trip in June", "When does Melanie go camping?"),
    ("He is allergic to peanuts", "Is there any peanut allergy?"),
    ("我女儿喜欢恐龙积木", "女儿喜欢什么样的积木"),
    ("用户希望为缓存系统添加淘汰策略", "缓存的淘汰策略是什么"),
]
UNRELATED = [
    ("We decided on an LRU eviction policy for the cache", "When does Melanie go camping?"),
    ("He is allergic to peanuts", "The deployment failed on Friday night"),
    ("我女儿喜欢恐龙积木", "缓存的淘汰策略是什么"),
    ("今天下午三点开会", "我对花生过敏"),
    ("我女儿喜欢恐龙积木", "The deployment failed on Friday night"),
]


def cosine(a: str, b: str) -> float:
    left, right = HashEmbedder().embed_documents([a, b])
    return sum(x * y for x, y in zip(left, right, strict=True))


def test_texts_of_one_topic_are_nearer_than_unrelated_ones() -> None:
    assert min(cosine(*pair) for pair in SAME) > max(cosine(*pair) for pair in UNRELATED) + 0.1


@pytest.mark.parametrize("text", ["hello world", "你好", "", "!?", "a\ud800b", "x" * 2_000_000])
def test_every_text_gets_a_vector_of_unit_length(text: str) -> None:
    assert math.hypot(*HashEmbedder().embed_query(text)) == pytest.approx(1.0)


def test_the_dimension_can_be_chosen_and_shows_in_the_name() -> None:
    embedder = HashEmbedder(dimension=32)
    assert len(embedder.embed_query("hello")) == embedder.dimension == 32
    assert embedder.name != HashEmbedder().name


def test_the_same_text_gives_the_same_vector_in_another_process() -> None:
    script = (
        "from amem_integrations.testing import HashEmbedder\n"
        "print(HashEmbedder().embed_query('the same 文本'))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.strip() == str(HashEmbedder().embed_query("the same 文本"))


async def test_both_forms_give_the_same_vectors() -> None:
    embedder = HashEmbedder()
    assert await embedder.aembed_documents(["a b", "c"]) == embedder.embed_documents(["a b", "c"])
    assert await embedder.aembed_query("a b") == embedder.embed_query("a b")
