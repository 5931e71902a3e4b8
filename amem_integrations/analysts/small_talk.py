"""Small talk: greetings, thanks, acknowledgements and fillers, in English, Chinese and some more.

A text is small talk only if all its words are listed here. To refuse is to say something.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from amem_integrations.analysts.lexicon import SMALL_TALK, SMALL_TALK_PHRASES

MAX_WORDS = 24


class SmallTalk(StrEnum):
    """Kinds of small talk: it may answer a question, or nothing at all."""

    ANSWER = "answer"
    FILLER = "filler"


_ANSWER, _FILLER = SmallTalk.ANSWER, SmallTalk.FILLER
# The kind of each word; "" for one that may stand between others.
_WORDS: Mapping[str, SmallTalk | str] = {
    **dict.fromkeys(SMALL_TALK["between"], ""),
    **dict.fromkeys(SMALL_TALK["fillers"], _FILLER),
    **dict.fromkeys(SMALL_TALK["answers"], _ANSWER),
}
_PHRASES = {
    **dict.fromkeys(SMALL_TALK_PHRASES["filler_phrases"], _FILLER),
    **dict.fromkeys(SMALL_TALK_PHRASES["answer_phrases"], _ANSWER),
}
_CHINESE = {
    **dict.fromkeys(SMALL_TALK["chinese_fillers"], _FILLER),
    **dict.fromkeys(SMALL_TALK["chinese_answers"], _ANSWER),
}
_LONGEST = max(map(len, _PHRASES))
_LONGEST_CHINESE = max(map(len, _CHINESE))

_IDEOGRAPHIC = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(
    rf"[{_IDEOGRAPHIC}]+|[^\W_{_IDEOGRAPHIC}]+(?:['\u2019][^\W\d_{_IDEOGRAPHIC}]+)*|[^\W\s]"
)
_LAUGHTER = re.compile(r"a?(?:ha)+h?|he(?:he)+|lo+l|lmf?ao|rofl|x+d+")
_STRETCHED = re.compile(r"([^\W\d])\1{2,}")
_ANSWERING_SIGNS = frozenset("👍👎👌✅✔❌✖🆗🙆🙅💯🙋")
# Signs that mean something by themselves, unlike smileys and punctuation.
_MEANINGFUL_SIGN = re.compile(r"[=<>+/\\|$€£¥%{}\[\]`_\u2190-\u22ff]")


def classify_small_talk(text: str, names: Collection[str] = ()) -> SmallTalk | None:
    """Return the kind of small talk that `text` is; None if it says anything else.

    names: folded words of the names of those who talk; their first letters are names too. A text
    without any word, such as a smiley, is small talk.
    """
    if _MEANINGFUL_SIGN.search(_TOKEN.sub("", text)):
        return None
    tokens = [token.replace("\u2019", "'").casefold() for token in _TOKEN.findall(text)]
    if len(tokens) > MAX_WORDS:
        return None
    kinds = [SmallTalk.ANSWER] if not _ANSWERING_SIGNS.isdisjoint(text) else []
    polite = not tokens
    at = 0
    while at < len(tokens):
        size, kind = _phrase_at(tokens, at) or (1, _word_kind(tokens[at], names))
        if kind is None:
            return None
        if kind:
            polite = True
            kinds.append(SmallTalk(kind))
        at += size
    if not polite:
        return None
    return SmallTalk.ANSWER if SmallTalk.ANSWER in kinds else SmallTalk.FILLER


def is_small_talk(word: str) -> bool:
    """Return whether a folded word is one of small talk."""
    return bool(_WORDS.get(word)) or _chinese(word) is not None


def _phrase_at(tokens: Sequence[str], at: int) -> tuple[int, SmallTalk] | None:
    for size in range(min(_LONGEST, len(tokens) - at), 1, -1):
        kind = _PHRASES.get(tuple(tokens[at : at + size]))
        if kind is not None:
            return size, kind
    return None


def _word_kind(token: str, names: Collection[str]) -> SmallTalk | str | None:
    """Return the kind of a word; "" for one that may stand between others, None for any other."""
    for form in (token, _STRETCHED.sub(r"\1", token), _STRETCHED.sub(r"\1\1", token)):
        if form in _WORDS:
            return _WORDS[form]
        if _LAUGHTER.fullmatch(form):
            return _FILLER
    if (chinese := _chinese(token)) is not None:
        return chinese
    if any(name == token or (len(token) > 2 and name.startswith(token)) for name in names):
        return ""
    return None


def _chinese(run: str) -> SmallTalk | None:
    """Return the kind of a run of Chinese or Japanese signs, if it is all small talk."""
    kind: SmallTalk | None = None
    at = 0
    while at < len(run):
        sizes = range(min(_LONGEST_CHINESE, len(run) - at), 0, -1)
        pieces = (run[at : at + size] for size in sizes)
        piece = next((piece for piece in pieces if piece in _CHINESE), None)
        if piece is not None:
            kind = _ANSWER if _ANSWER in (kind, _CHINESE[piece]) else _FILLER
        elif kind is None or run[at] not in SMALL_TALK["particles"]:
            return None
        at += len(piece or run[at])
    return kind
