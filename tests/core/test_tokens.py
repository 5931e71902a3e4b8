"""The estimate of tokens: never absurd, and mostly no lower than a tokenizer's count."""

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations.core.values import estimate_tokens

ENGLISH = "Calvin wants an LRU policy for the cache; eviction by age threw away hot entries. "
CHINESE = "我们决定在下周三之前完成缓存的改造，卡尔文负责淘汰策略，其他人先不要动配置。"

SAMPLES = {
    "English": ENGLISH,
    "French": "Nous avons décidé d'achever la refonte du cache avant mercredi, sans rien d'autre.",
    "German": "Wir haben beschlossen, die Überarbeitung des Zwischenspeichers bald abzuschließen.",
    "Chinese": CHINESE,
    "Japanese": "来週の水曜日までにキャッシュの改修を終わらせることにしました。",
    "Korean": "다음 주 수요일까지 캐시 개편을 끝내기로 했습니다.",
    "Russian": "Мы решили закончить переделку кэша до следующей среды, а настройки не трогать.",
    "Greek": "Αποφασίσαμε να ολοκληρώσουμε την ανανέωση της μνήμης μέχρι την Τετάρτη.",
    "Arabic": "قررنا إنهاء تجديد ذاكرة التخزين المؤقت قبل يوم الأربعاء القادم.",
    "Hebrew": "החלטנו לסיים את שיפוץ המטמון עד יום רביעי הבא.",
    "Hindi": "हमने अगले बुधवार तक कैश का नवीनीकरण पूरा करने का निर्णय लिया है।",
    "Thai": "เราตัดสินใจปรับปรุงแคชให้เสร็จก่อนวันพุธหน้าและห้ามแตะการตั้งค่า",
    "code": "def f(x): return {k: v**2 for k, v in sorted(x.items(), key=lambda kv: -kv[1])} or []",
    "numbers": "2024-03-01T12:33:10.123Z 10.0.0.1:6333 3.14159 99,999,999.00 +49 30 123456",
    "JSON": '{"content":"The cache is full","tags":["cache","lru"],"n":1.5,"ok":true}',
    "punctuation": "“Well”—she said…‘no’ • item → next ≤ 5 €",
}

any_text = st.text(st.characters(exclude_categories=()), max_size=60)


@pytest.fixture(scope="module")
def cl100k() -> Any:
    """OpenAI's encoding, if a package that ships its file is installed."""
    pytest.importorskip("tiktoken")
    spec = importlib.util.find_spec("llama_index")
    roots = [] if spec is None else [Path(each) for each in spec.submodule_search_locations or ()]
    found = [root / "core" / "_static" / "tiktoken_cache" for root in roots]
    cache = next((each for each in found if each.is_dir()), None)
    if cache is None:
        pytest.skip("no encoding file on this machine")
    import tiktoken

    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cache)
    try:
        return tiktoken.get_encoding("cl100k_base")
    finally:
        os.environ.pop("TIKTOKEN_CACHE_DIR")
        if before is not None:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_is_near_what_a_tokenizer_counts(kind: str, cl100k: Any) -> None:
    real = len(cl100k.encode(SAMPLES[kind]))
    assert 0.75 * real <= estimate_tokens(SAMPLES[kind]) <= 2.2 * real


@given(any_text)
def test_something_to_read_takes_a_token_and_nothing_takes_none(text: str) -> None:
    assert (estimate_tokens(text) > 0) == (text != "")


@given(any_text, any_text)
def test_more_text_never_takes_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more)
    assert estimate_tokens(more) <= estimate_tokens(text + more)


@given(any_text, any_text)
def test_texts_put_together_take_no_more_than_each_alone(text: str, more: str) -> None:
    assert estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more)


@given(any_text)
def test_no_text_takes_more_tokens_than_it_has_characters(text: str) -> None:
    assert estimate_tokens(text) <= len(text)


@pytest.mark.parametrize("text", [" " * 4000, "\n" * 4000, "a" * 4000], ids=["space", "line", "a"])
def test_what_a_tokenizer_packs_counts_a_token_for_every_four_characters(text: str) -> None:
    assert estimate_tokens(text) == 1000


def test_digits_and_random_letters_are_not_taken_for_words(cl100k: Any) -> None:
    letters = random.Random(7)
    text = "".join(letters.choice("0123456789abcdef") for _ in range(400))
    assert estimate_tokens(text) >= 0.8 * len(cl100k.encode(text))
