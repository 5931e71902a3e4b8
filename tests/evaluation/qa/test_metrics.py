"""The measures, by hand and against the libraries that they come from."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nltk import data
from nltk.stem import PorterStemmer
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.meteor_score import meteor_score
from rouge_score.rouge_scorer import RougeScorer

from amem_integrations.errors import ModelUnavailableError
from amem_integrations.evaluation.qa import metrics
from amem_integrations.evaluation.qa.libraries import library
from amem_integrations.evaluation.qa.metrics import (
    abstains,
    bleu1,
    f1,
    f1_official,
    meteor,
    rouge,
    similarities,
)
from amem_integrations.evaluation.qa.wordnet import read_debian
from tests.support import EMBEDDER

_WORDS = [
    *("the", "a", "an", "and", "boats", "boat", "sailing", "sailed", "sail", "June", "7", "2023"),
    *("don't", "Ms.", "Ilya's", "sewing,", "painted;", "blue!", "yes?", "no.", "camping", "(tent)"),
]


def _pairs(count: int = 200) -> list[tuple[str, str]]:
    draw = random.Random(7)
    texts = [" ".join(draw.choices(_WORDS, k=draw.randint(1, 8))) for _ in range(2 * count)]
    return list(zip(texts[::2], texts[1::2], strict=True))


def test_f1_by_hand() -> None:
    # {sewing, sails} and {sewing, in, june}: one of two, one of three.
    assert f1("Sewing sails!", "sewing in June.") == pytest.approx(2 / 5)
    assert f1("Ilya", "ilya") == 1
    assert f1("Nora", "Ilya") == f1("", "Ilya") == 0


def test_official_f1_by_hand() -> None:
    # [sew, sail] and [sew, in, june].
    assert f1_official("Sewing a sail!", "sewing in June.", "single-hop") == pytest.approx(2 / 5)
    assert f1_official("", "Ilya", "temporal") == 0


@pytest.mark.parametrize(
    ("answer", "gold", "authors", "official"),
    [
        ("ho ho ho", "ho", 1, 1 / 2),  # repeated words
        ("the boat", "boat", 2 / 3, 1),  # articles
        ("and the boat", "boat", 1 / 2, 1),  # "and" as well
        ("boats", "boat", 0, 1),  # endings
        ("(boat)", "boat", 0, 1),  # punctuation beyond . , ! ?
        ("boat, sail", "boat sail", 1, 1),
        ("12,000", "12 000", 1, 0),  # a comma within a number
    ],
)
def test_the_two_f1s_differ_where_they_should(
    answer: str, gold: str, authors: float, official: float
) -> None:
    assert f1(answer, gold) == pytest.approx(authors)
    assert f1_official(answer, gold, "single-hop") == pytest.approx(official)


def test_commas_make_a_list_of_a_multi_hop_answer_only() -> None:
    # "red boat" is found whole and "tent" not at all; as one text, 2 of 3 words of both.
    assert f1_official("red boat, kite", "red boat, tent", "multi-hop") == pytest.approx(1 / 2)
    assert f1_official("red boat, kite", "red boat, tent", "single-hop") == pytest.approx(2 / 3)


def test_open_domain_golds_end_at_a_semicolon() -> None:
    assert f1_official("yes", "yes; she sails", "open-domain") == 1
    assert f1_official("yes", "yes; she sails", "single-hop") == pytest.approx(1 / 2)


def test_an_adversarial_question_is_answered_by_abstaining() -> None:
    said = "Not mentioned in the conversation"
    assert f1_official(said, "a boat", "adversarial") == 1
    assert f1_official("a boat", "a boat", "adversarial") == 0
    assert abstains("There is no information available.")
    assert abstains("没有提到")
    assert not abstains("the mention of a boat")


def test_bleu_by_hand() -> None:
    # Two of three words; and of one word of four, cut by the brevity penalty exp(1 - 4/1).
    assert bleu1("red boat kite", "red boat tent") == pytest.approx(2 / 3)
    assert bleu1("red", "red boat with sails") == pytest.approx(0.0497871)
    assert bleu1("", "boat") == 0


def test_rouge_by_hand() -> None:
    # One pair of words in common of two each; two words in order of three each.
    assert rouge("red boat kite", "red boat tent") == pytest.approx((1 / 2, 2 / 3))
    assert rouge("", "boat") == (0, 0)


def test_f1_equals_sets_counted_otherwise_on_random_pairs() -> None:
    for answer, gold in _pairs():
        said, right = (
            {word.strip(".,!?") for word in text.lower().split()} - {""} for text in (answer, gold)
        )
        same = len(said & right)
        expected = same and 2 / (len(said) / same + len(right) / same)
        assert f1(answer, gold) == pytest.approx(expected)


def test_official_f1_equals_its_definition_on_random_pairs() -> None:
    stem = PorterStemmer().stem

    def words(text: str) -> Counter[str]:
        kept = "".join(c for c in text.lower() if c.isalnum() or c == " ")
        return Counter(stem(word) for word in kept.split() if word not in ("a", "an", "the", "and"))

    for answer, gold in _pairs():
        said, right = words(answer), words(gold)
        same = (said & right).total()
        precision = same / said.total() if said else 0
        recall = same / right.total() if right else 0
        expected = 2 * precision * recall / (precision + recall) if same else 0
        assert f1_official(answer, gold, "single-hop") == pytest.approx(expected)


def test_bleu_equals_nltk_s_on_random_pairs() -> None:
    tokenize, smoothing = NLTKWordTokenizer().tokenize, SmoothingFunction().method1
    for answer, gold in _pairs():
        expected = sentence_bleu(
            [tokenize(gold.lower())],
            tokenize(answer.lower()),
            weights=(1, 0, 0, 0),
            smoothing_function=smoothing,
        )
        assert bleu1(answer, gold) == expected


def test_rouge_equals_rouge_score_s_on_random_pairs() -> None:
    scorer = RougeScorer(["rouge2", "rougeL"], use_stemmer=True)
    for answer, gold in _pairs():
        expected = scorer.score(gold, answer)
        assert rouge(answer, gold) == (expected["rouge2"].fmeasure, expected["rougeL"].fmeasure)


def test_meteor_without_wordnet_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "wordnet", lambda: None)
    with pytest.raises(LookupError, match="wordnet-base"):
        meteor("a boat", "a boat")


@pytest.fixture
def small_wordnet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A WordNet as Debian ships it, in which cars are autos and nothing else is known."""
    for part in ("noun", "verb", "adj", "adv"):
        for kind in ("data.{}", "index.{}", "{}.exc"):
            (tmp_path / kind.format(part)).write_text("")
    (tmp_path / "data.noun").write_text("00000000 06 n 02 car 0 auto 0 000 | a car\n")
    (tmp_path / "index.noun").write_text(
        "".join(f"{word} n 1 0 1 1 00000000\n" for word in ("auto", "car"))
    )
    monkeypatch.setattr(data, "path", list(data.path))
    known = read_debian(tmp_path)
    monkeypatch.setattr(metrics, "wordnet", lambda: known)
    yield known
    for file in known._data_file_map.values():  # NLTK closes none
        file.close()


@pytest.mark.usefixtures("small_wordnet")
def test_meteor_knows_synonyms() -> None:
    # Two words in one run: 1 - 0.5 * (1/2)^3. Without a synonym, one word: 0.5 * (1 - 0.5).
    assert meteor("the auto", "the car") == pytest.approx(0.9375)
    assert meteor("the cart", "the car") == pytest.approx(0.25)
    assert meteor("", "the car") == 0


def test_meteor_equals_nltk_s_on_random_pairs(small_wordnet: Any) -> None:
    for answer, gold in _pairs():
        expected = meteor_score([gold.split()], answer.split(), wordnet=small_wordnet)
        assert meteor(answer, gold) == expected


def test_ideographs_are_words() -> None:
    assert f1("三月二十日", "三月") == pytest.approx(2 * 2 / (5 + 2))
    assert bleu1("三月", "三月") == 1
    assert rouge("在三月", "三月") == pytest.approx((2 / 3, 4 / 5))
    assert f1_official("冻伤。", "冻伤", "single-hop") == 1


def test_similarity_is_a_cosine_and_an_empty_answer_has_none() -> None:
    pairs = [("red boat", "red boat"), ("red boat", "green tent"), ("", "red boat")]
    same, unlike, empty = similarities(pairs, EMBEDDER.embed_documents)
    assert same == pytest.approx(1)
    assert unlike < 0.9
    assert empty == 0


def test_similarity_equals_numpy_s_cosine_on_random_pairs() -> None:
    pairs = _pairs()
    for (answer, gold), found in zip(
        pairs, similarities(pairs, EMBEDDER.embed_documents), strict=True
    ):
        one, other = map(np.array, EMBEDDER.embed_documents([answer, gold]))
        expected = one @ other / (np.linalg.norm(one) * np.linalg.norm(other))
        assert found == pytest.approx(expected, abs=1e-9)


def test_each_text_is_embedded_once() -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return EMBEDDER.embed_documents(texts)

    similarities([("a boat", "a tent"), ("a tent", "a boat"), ("a boat", "a tent")], embed)
    assert asked == ["a boat", "a tent"]


def test_a_missing_library_names_the_extra() -> None:
    with pytest.raises(ModelUnavailableError, match=r"needs no_such_library.*\[eval\]"):
        library("no_such_library.metrics")
