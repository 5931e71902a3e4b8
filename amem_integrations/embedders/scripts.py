"""Which scripts a language is written in, and whether a text is in scripts that one knows.

A cheap look at a text's letters, no language detection: French and English look the same.
"""

import unicodedata
from collections.abc import Collection
from functools import lru_cache

_SAMPLE_CHARS = 1000
# A text counts as foreign when more than this share of its letters is in unknown scripts;
# well under half, since one Han character says as much as several Latin letters.
_FOREIGN_SHARE = 0.3

# First word of a letter's Unicode name. Whatever is not listed here is written in Latin.
_WRITTEN_IN = {
    "ar": ("ARABIC",),
    "el": ("GREEK",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL", "CJK"),
    "ru": ("CYRILLIC",),
    "th": ("THAI",),
    "uk": ("CYRILLIC",),
    "zh": ("CJK",),
}


def scripts_of(languages: Collection[str]) -> frozenset[str]:
    """The scripts of some languages (ISO 639-1 codes). Latin is always among them."""
    return frozenset({"LATIN"}.union(*(_WRITTEN_IN.get(code, ()) for code in languages)))


def is_written_in(text: str, scripts: Collection[str]) -> bool:
    """Whether most letters at the start of `text` belong to `scripts`."""
    sample = text[:_SAMPLE_CHARS]
    if sample.isascii():
        return True
    found = [script for script in map(_script, sample) if script]
    foreign = sum(script not in scripts for script in found)
    return foreign <= _FOREIGN_SHARE * len(found)


@lru_cache(maxsize=8192)
def _script(character: str) -> str:
    """The script of a letter; empty for anything else."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""
