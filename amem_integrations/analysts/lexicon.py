"""Word lists of several languages, as `lexicon.toml` holds them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

_LISTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def _words(name: str, group: str = "words") -> frozenset[str]:
    return frozenset(_LISTS[group][name].split())


STOP: Mapping[str, frozenset[str]] = {
    language: _words(language, "stop") for language in _LISTS["stop"]
}
"""By language, the words that bound a phrase and are never part of one."""

UNITS = _words("units")
COMMON = _words("common") | UNITS
"""Words that may stand in a phrase but say little alone."""

TIME = _words("time")
CHINESE_COMMON = _words("chinese_common")
HOLLOW_CHINESE = _words("hollow_chinese")
NOT_ADVERBS = _words("not_adverbs")
NO_DIFFERENCE = _words("no_difference")
KOREAN_PARTICLES = tuple(_LISTS["words"]["korean_particles"].split())

SMALL_TALK: Mapping[str, frozenset[str]] = {
    name: _words(name, "small_talk") for name in _LISTS["small_talk"] if "phrases" not in name
}
"""Words of small talk, by what they do in it."""

SMALL_TALK_PHRASES: Mapping[str, frozenset[tuple[str, ...]]] = {
    name: frozenset(tuple(phrase.split()) for phrase in text.split(","))
    for name, text in _LISTS["small_talk"].items()
    if "phrases" in name
}
