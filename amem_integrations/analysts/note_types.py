"""What kind of text it is: small talk, or a type of note, recognised by cues.

Small talk is greetings, thanks, acknowledgements and fillers, in English, Chinese and some more. A
text is small talk only if all its words are; to refuse is to say something. The types of notes are
English words, so that one filter finds all decisions in any language.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from amem_integrations.analysts.lexicon import SMALL_TALK, SMALL_TALK_PHRASES

ASSISTANTS = frozenset({"assistant", "ai", "bot", "system", "tool", "agent", "model"})
"""Speakers that are no users, in small letters."""

NOTE_TYPES = ("question", "correction", "decision", "preference", "problem", "plan", "remark")

_TAIL_CHARS = 40
_MAX_CHARS = 4000

_QUESTION_END = re.compile(r"[?\uff1f\u061f][\s\"'”’)\uff09]*$")
_QUESTION_MARK = re.compile(r"[\uff1f\u061f]|\?(?=\s|$|[^\x00-\x7f])")
_QUESTION_CHINESE = re.compile(r"(?:吗|呢|几点|哪里|哪儿|怎么办)[。\s]*$")

# The first type whose cue is found is taken.
_CUES = {
    note_type: re.compile(pattern, re.IGNORECASE)
    for note_type, pattern in {
        "correction": r"\bforget (?:that|what i said|the old)\b|\bi was wrong\b|\bmy mistake\b"
        r"|\bcorrection\b"
        r"|\bi looked it up\b|\bi (?:misread|mixed up|got that wrong)\b"
        r"|更正|纠正|更改为|说错|记错|弄错|搞错|写错|看错",
        "decision": r"\bdecided\b|\b(?:we(?:[’']ll)?|let[’']s) go with\b"
        r"|\b(?:so|then) we(?:[’']ll| will)? (?:take|use|go|do|pick|choose)\b"
        r"|^(?:then|deal|agreed|settled|done deal)\b(?=[^?]*$)|\bwe (?:agreed|settled|chose)\b"
        r"|决定|敲定|说定|定了(?!吗|没)|定下来|就这么办|就用|就选",
        "preference": r"\bi (?:really |always |usually )?(?:love|like|prefer|hate|enjoy"
        r"|can[’']t stand"
        r"|don[’']t (?:like|eat|drink)|never (?:eat|drink))\b"
        r"|\bi(?:[’']d| would) (?:rather|prefer)\b|\b(?:suits? me|favou?rite|i keep my)\b"
        r"|\b(?:vegetarian|vegan|allergic|allergy)\b"
        r"|喜欢|讨厌|偏爱|爱吃|爱喝|不吃|不喝|我喝|忌口|过敏|起疹|受不了|习惯",
        "problem": r"\b(?:bug|crash(?:es|ed)?|fail(?:s|ed|ure)?|broken|broke|bad news|less good"
        r"|error|problem|outage|doesn[’']t work|not working|drops? off|on strike|cancell?ed"
        r"|delayed|dead)\b"
        r"|(?<!没)(?<!没有)问题|故障|失败|报错|崩溃|出错|坏了|坏掉|不工作|连不上|打不开|取消|延误",
        "plan": r"\b(?:i|we)(?:[’']ll| will| plan to|[’'](?:m|re) going to| (?:am|are) going to)\b"
        r"|\b(?:booked|scheduled|deadline|by (?:monday|tuesday|wednesday|thursday|friday|\d))"
        r"|打算|计划|准备|安排|预订|预定|我来订|下单|改到|下周|下个月|明天|后天|交期|周末前",
    }.items()
}


def note_type_of(text: str) -> str | None:
    """Return the type of note that `text` is, or None where no cue is clear."""
    text = text[:_MAX_CHARS].strip()
    tail = text[-_TAIL_CHARS:]
    if _QUESTION_END.search(tail) or _QUESTION_CHINESE.search(tail):
        return "question"
    found = next((note_type for note_type, cue in _CUES.items() if cue.search(text)), None)
    return found or ("question" if _QUESTION_MARK.search(text) else None)


def is_question(text: str) -> bool:
    return note_type_of(text) == "question"


# A question that begins as one; before it there may be a greeting or a word of its kind.
_ASKING = re.compile(
    r"(?:\w+[,!.]\s+|(?:and|so|but|or|oh|hey|well|ok|und|also|aber|oder|y|et)\s+){0,2}[¿]?"
    r"(?:(?:in|on|at|for|to|from|by|with|until|since|of|about"
    r"|an|auf|aus|bei|bis|für|mit|nach|seit|um|von|vor|zu|de|en|por|para|à)\s+)?"
    r"(?:who(?:m|se)?|what|when|where|which|how|why|(?:who|what|when|where|how)['’]s|is|are|am|was"
    r"|were|do|does|did|can|could|will|would|shall|should|may|might|have|has|had"
    r"|wer|wen|wem|wessen|was|wann|wo(?:hin|her|mit|für|zu|von|ran|rüber)?|welche[rsnm]?|warum"
    r"|wieso|weshalb|wie|ist|sind|war|waren|bist|hast|hat|habt|haben|kann|kannst|könnt|können"
    r"|könntest|könnte|willst|wollen|wird|wirst|werden|soll|sollen|sollte|darf|weißt"
    r"|qué|quién(?:es)?|cuándo|dónde|cuál(?:es)?|cómo|cuánt[oa]s?"
    r"|qui|que|quoi|quand|où|quel(?:le)?s?|comment|combien|pourquoi|est-ce)\b",
    re.IGNORECASE,
)
# Whoever asks so may tell something: that somebody know, remember or note it, or do it together.
_TELLING = re.compile(
    r"\b(?:know|remember|note|remind|save|write down|keep in mind|forget|believe|heard?|told?)\b"
    r"(?! (?:me )?(?:when|what|who|where|which|how|why|if|whether)\b)"
    r".*\b(?:that|is|are|has|have|to)\b"
    r"|\b(?:weißt|merk\w*|notier\w*|erinner\w*|speicher\w*)\b"
    r"(?!,? (?:(?:du|ihr),? )?(?:wann|was|wer|wo|welche\w?|wie|warum|ob)\b)"
    r".*\b(?:dass|daran|ist|sind|hat)\b"
    r"|\b(?:because|since|weil|porque|parce que)\b|记住|记得|因为"
    r"|\b(?:can|could|shall|should|may|might|don['’]t) (?:we|i)\b|\b(?:how|what) about\b"
    r"|\b(?:können|könnten|sollen|sollten|wollen|dürfen) wir\b|(?:好|行|可以)[吗嗎]|怎么样",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[，,；;].*[，,；;]|[，；;]")
_MOST_ASKED = 200


def only_asks(text: str) -> bool:
    """Return whether a text is a bare question: it asks, and tells nothing beside that.

    In doubt it tells something: questions of several clauses do, and those that ask somebody to
    know or remember a thing.
    """
    text = text.strip()
    if len(text) > _MOST_ASKED or _TELLING.search(text) or _CLAUSE.search(text):
        return False
    if not is_question(text):
        return False
    begins = _ASKING.match(text) is not None
    return begins or (not text.isascii() and bool(_QUESTION_CHINESE.search(text.rstrip("?？ "))))


# -- small talk ------------------------------------------------------------------------------

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
