"""Small talk: greetings, thanks, acknowledgements and fillers, in English, Chinese and some more.

A text is small talk only if all its words are listed here. To refuse is to say something.
"""

import re
from collections.abc import Collection, Sequence
from enum import StrEnum

MAX_WORDS = 24


class SmallTalk(StrEnum):
    """Kinds of small talk: it may answer a question, or nothing at all."""

    ANSWER = "answer"
    FILLER = "filler"


def _phrases(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in text.split(","))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ANSWERS = _words("""
    ok okay okey okie k kk alright yes yeah yea yep yup ya aye sure right exactly
    absolutely totally definitely certainly indeed agreed deal done fine fair correct true
    great perfect
    ja oui sí sim да 네 예 はい うん
""")
_FILLERS = _words("""
    thanks thank thx ty tysm cheers hi hello hey heya howdy hiya bye goodbye cya welcome sorry
    congrats congratulations please lol haha hehe oh ah aha aw aww ooh oops ouch wow woah whoa
    yay hooray yikes gosh hm hmm mhm uh um huh er well nice lovely cool awesome amazing wonderful
    fantastic excellent brilliant super superb good neat sweet incredible great noted understood
    anyway anyways roger adorable
    danke hallo tschüss bitte super merci bonjour salut gracias hola adiós obrigado obrigada olá
    grazie ciao bedankt hoi спасибо привет пока
    감사합니다 고마워 고마워요 안녕 안녕하세요 شكرا مرحبا धन्यवाद नमस्ते
""")
# They may stand between the words above; a text of these alone is no small talk.
_BETWEEN = _words("""
    a an the and to for of so very really too much that that's thats this it it's its is was are
    am be you you're youre your i i'm im me my everyone everybody all both guys folks team again
    then just such about what how
""")
_PHRASES = {
    SmallTalk.ANSWER: _phrases("""
        of course, sounds good, sounds great, sounds like a plan, will do, got it, no
        problem, go ahead, i agree, you're right, me too, why not, makes sense, sure
        thing, you got it, i will
    """),
    SmallTalk.FILLER: _phrases("""
        thanks a lot, thanks a bunch, good morning, good afternoon, good evening, good
        night, good day, morning all, morning both, no worries, my pleasure, you bet,
        any time, i see, i know right, how are you, how are you doing, how are things,
        how have you been, how's it going, how is it going, what's up, what's new, long
        time no see, good to see you, great to see you, nice to see you, good to hear
        from you, great to hear from you, nice to meet you, see you, see you soon, see
        you later, see you then, see ya, talk soon, talk to you later, talk to you soon,
        catch you later, take care, have a good day, have a great day, have a nice day,
        have a good one, have a good weekend, keep it up, keep up the good work, good
        luck, well done, good job, great job, nice work, you too, you're a star, you're
        the best, you rock, you got this, you've got this, for now, enjoy it, enjoy
        yourself, have fun, hang in there, go for it, can't wait, i'm here for you, just
        wanted to say hi, oh my god, oh no
    """),
}
_LONGEST = max(len(phrase) for phrases in _PHRASES.values() for phrase in phrases)

_PARTICLES = frozenset("的了吧啊呀哦喔噢呢哈嘛啦喽咯哒嘞呐吗么")
_CHINESE_ANSWERS = _words("""
    好 行 可以 嗯 对 是 没问题 沒問題 没错 沒錯 当然 當然 确实 確實 同意
""")
_CHINESE_FILLERS = _words("""
    谢谢 謝謝 谢谢你 谢谢您 谢谢你们 谢谢大家 謝謝你 謝謝您 多谢 多謝 感谢 感謝 非常感谢 太感谢
    不客气 不客氣 不用谢 没事 沒事 没关系 沒關係 辛苦 收到 明白 了解 瞭解 知道 懂 记住 好说
    你好 您好 大家好 嗨 早 早安 早上好 上午好 中午好 下午好 晚上好 晚安 再见 再見 拜拜 回见 回头见
    太好 太棒 真棒 真好 好棒 不错 不錯 厉害 厲害 牛 赞 棒 哇 哎 唉 呃 哈 嘿 呵 哦 噢 啊
    加油 恭喜 祝贺 对不起 不好意思 抱歉 打扰 麻烦你 麻烦您 原来如此 原来是这样 这样 真的 是吗
    ありがとう ありがとうございます こんにちは おはよう おはようございます すみません 了解です
""")
_LONGEST_CHINESE = max(map(len, _CHINESE_FILLERS))

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
    return word in _FILLERS or word in _ANSWERS or _chinese(word) is not None


def _phrase_at(tokens: Sequence[str], at: int) -> tuple[int, SmallTalk] | None:
    for size in range(min(_LONGEST, len(tokens) - at), 1, -1):
        part = tuple(tokens[at : at + size])
        for kind, phrases in _PHRASES.items():
            if part in phrases:
                return size, kind
    return None


def _word_kind(token: str, names: Collection[str]) -> SmallTalk | str | None:
    """Return the kind of a word; "" for one that may stand between others, None for any other."""
    for form in (token, _STRETCHED.sub(r"\1", token), _STRETCHED.sub(r"\1\1", token)):
        if form in _ANSWERS:
            return SmallTalk.ANSWER
        if form in _FILLERS or _LAUGHTER.fullmatch(form):
            return SmallTalk.FILLER
        if form in _BETWEEN:
            return ""
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
        piece = next((p for p in pieces if p in _CHINESE_FILLERS or p in _CHINESE_ANSWERS), None)
        if piece is None and (kind is None or run[at] not in _PARTICLES):
            return None
        if piece in _CHINESE_ANSWERS:
            kind = SmallTalk.ANSWER
        at += len(piece or run[at])
        kind = kind or SmallTalk.FILLER
    return kind
