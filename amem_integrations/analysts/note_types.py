"""Types of notes, recognised by simple cues in English and Chinese.

The types are English words, so that one filter finds all decisions in any language.
"""

import re

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
