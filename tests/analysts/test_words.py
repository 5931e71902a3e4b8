"""Cutting text of any language into words."""

import unicodedata

import pytest

from amem_integrations.analysts.words import (
    IDENTIFIER,
    MAX_TEXT_CHARS,
    NAME,
    PLAIN,
    TELLING,
    has_matter,
    is_chinese,
    keys,
    script,
    words_of,
)

# First letters of scripts' blocks.
SCRIPTS = {
    "LATIN": 0x61, "CYRILLIC": 0x430, "HEBREW": 0x5D0, "ARABIC": 0x628, "DEVANAGARI": 0x915,
    "TAMIL": 0xB95, "THAI": 0xE01, "TIBETAN": 0xF40, "MYANMAR": 0x1000, "GEORGIAN": 0x10D0,
    "HANGUL": 0xAC00, "ETHIOPIC": 0x1200, "KHMER": 0x1780, "BALINESE": 0x1B05,
    "HIRAGANA": 0x3042, "KATAKANA": 0x30A2, "CJK": 0x4E00, "VAI": 0xA500,
}  # fmt: skip


def sample(name: str) -> str:
    """Sixteen letters of a script, four at a time."""
    start = SCRIPTS[name]
    signs = [chr(code) for code in range(start, start + 40) if chr(code).isalpha()][:16]
    return " ".join("".join(signs[at : at + 4]) for at in range(0, 16, 4))


def weight_of(text: str, word: str) -> float:
    return next(each.weight for each in words_of(text) if each.text == word)


@pytest.mark.parametrize("name", SCRIPTS)
def test_words_of_every_script_are_found_where_they_stand(name: str) -> None:
    text = sample(name)
    found = words_of(text)
    assert found
    assert all(text[word.start : word.end] == word.text for word in found)
    assert "".join(word.text for word in found) == text.replace(" ", "")
    assert keys(text) == {word.key for word in found}
    assert script(text) == name


def test_combining_marks_stay_inside_their_word() -> None:
    for text in ("डेटाबेस", "நாங்கள்", "شَمْس", unicodedata.normalize("NFD", "Gärtner")):
        assert [word.text for word in words_of(text)] == [text]


def test_chinese_is_segmented() -> None:
    found = [word.text for word in words_of("我们把缓存的淘汰策略换成LRU")]
    assert {"缓存", "淘汰", "策略", "LRU"} <= set(found)


def test_japanese_is_cut_where_its_scripts_change() -> None:
    found = words_of("東京のチームはキャッシュの削除方針を議論した")
    carrying = [word.text for word in found if word.weight >= TELLING]
    assert carrying == ["東京", "チーム", "キャッシュ", "削除方針", "議論"]


def test_thai_words_have_the_same_pieces_in_different_sentences() -> None:
    one = keys("เราเก็บข้อมูลไว้ในฐานข้อมูล")
    other = keys("ค่าทั้งหมดอยู่ในฐานข้อมูล")
    assert "ในฐานข้อมูล" in one & other


def test_korean_particles_are_not_part_of_the_key() -> None:
    assert keys("데이터를") == keys("데이터는") == {"데이터"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cell", "Cells"),
        ("battery", "batteries"),
        ("box", "boxes"),
        ("tomato", "tomatoes"),
        ("hero", "Heroes"),
        ("shoe", "shoes"),
        ("garden", "garden's"),
        ("garden", "garden’s"),
    ],
)
def test_forms_of_one_word_share_a_key(one: str, other: str) -> None:
    assert keys(one) == keys(other)


@pytest.mark.parametrize("word", ["status", "glass", "basis", "LRU", "WAL"])
def test_words_that_only_look_like_plurals_are_left_alone(word: str) -> None:
    assert keys(word) == {word.casefold()}


@pytest.mark.parametrize("word", ["foo_bar", "fooBar", "LRU", "IP67", "C++", "utils.py", "0.9.4"])
def test_identifiers_carry_most(word: str) -> None:
    assert weight_of(f"we saw {word} there", word) == IDENTIFIER


def test_a_capital_marks_a_name_only_inside_a_sentence() -> None:
    assert weight_of("The cells from Huaxin failed.", "Huaxin") == NAME
    assert weight_of("It failed. Cells are cheap.", "Cells") == PLAIN


def test_a_known_name_is_one_at_the_beginning_of_a_sentence_too() -> None:
    [word, *_] = words_of("Huaxin is out.", names={"huaxin"})
    assert word.weight == NAME


def test_a_title_does_not_end_a_sentence() -> None:
    assert weight_of("We met Dr. Seidel.", "Seidel") == NAME


def test_times_of_day_dates_and_links_carry_nothing() -> None:
    text = "See https://example.com/a?b=c on Monday, 2026-03-02 at 16:30, the 23rd"
    for word in ("https://example.com/a?b=c", "Monday", "2026-03-02", "16:30", "23rd"):
        assert weight_of(text, word) == 0.0


def test_a_unit_carries_only_after_a_number() -> None:
    assert weight_of("the lid is 3 mm taller", "mm") == PLAIN
    assert weight_of("measured in mm here", "mm") < TELLING


def test_function_words_are_those_of_the_language_of_the_text() -> None:
    assert weight_of("Die Gärtner und die Sensoren sind im Haus", "die") == 0.0
    assert weight_of("the old plants die in the cold", "die") > 0.0


@pytest.mark.parametrize(
    ("text", "matter"),
    [
        *((it, False) for it in ("OK!", "Thanks, great", "好的", "谢谢！", "👍", "12:30", "...")),
        *((it, True) for it in ("Redis", "ok, use Redis", "改用缓存", "キャッシュ")),
    ],
)
def test_an_acknowledgement_has_no_matter(text: str, matter: bool) -> None:
    assert has_matter(text) is matter


def test_only_the_beginning_of_a_very_long_text_is_read() -> None:
    assert words_of("pump " * MAX_TEXT_CHARS)[-1].end <= MAX_TEXT_CHARS


def test_mixed_text_is_chinese_when_chinese_says_most_of_it() -> None:
    assert is_chinese("仪表盘的缓存满了怎么淘汰？我想用LRU")
    assert not is_chinese("The note says 缓存 and nothing else of it")
    assert not is_chinese("東京のチーム")
    assert not is_chinese("plain")


def test_terminal_colours_are_no_words() -> None:
    found = [word.text for word in words_of("The \x1b[1;31mred\x1b[0m harbour")]
    assert found == [word.text for word in words_of("The red harbour")]
