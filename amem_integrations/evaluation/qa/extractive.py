"""A reader without a model: it copies words out of the evidence, the same ones every time.

So that everything can be run and compared offline. Its answers are no measure of what a model
would say: it looks for the sentence that shares most with the question, and cuts it down.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from amem_integrations.analysts.terms import Corpus, sentences
from amem_integrations.analysts.words import NAME, WEAK, Word, words_of
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.quoted import Said, quoted
from amem_integrations.evaluation.qa.reader import ABSTENTION
from amem_integrations.evaluation.qa.system import Evidence
from amem_integrations.recall.dates import Days, days_in

_MOST_WORDS = 8
_NEAR = 3
"""So many of the best sentences may vouch for an adversarial answer."""
_SAME_LINE, _SPEAKER = 0.4, 1.0

_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:day|date|month|year|week)\b|什么时候|哪[一]?[天年月]|何时", re.I
)
_HOW_MANY = re.compile(r"\bhow (?:many|much|old|long|tall|often)\b|多少|几[个天岁]|多长", re.I)
_WHO = re.compile(r"\bwho(?:se|m)?\b|谁", re.I)
_CLOSED = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|would|will|has|have|had|should)\b", re.I
)
_COUNTS = frozenset(
    (
        *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
        *("twelve", "once", "twice", "两", "三", "四", "五", "六"),
    )
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


class _Sentence(NamedTuple):
    said: Said
    text: str
    words: list[Word]
    around: frozenset[str]
    """The words of the whole line."""


class _Read(NamedTuple):
    sentences: list[_Sentence]
    corpus: Corpus


class ExtractiveReader:
    """Answers with a span of the best sentence: a date, a number, a name, or the words left over.

    For an adversarial question it says what the bait says, if the best sentences have all of its
    words, and else that it is not mentioned.
    """

    name = "extractive"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        read = _read(evidence.text)
        best = _ranked(question.text, read)[:_NEAR]
        bait = question.adversarial_answer
        if bait is not None:
            return bait if _vouched(bait, best) else ABSTENTION
        return _span(question.text, best[0]) if best else ""


@lru_cache(maxsize=128)
def _read(text: str) -> _Read:
    said = quoted(text)
    found: list[_Sentence] = []
    for line in said:
        parts = [(part, words_of(part)) for part in sentences(line.text)]
        around = frozenset(word.key for _, words in parts for word in words)
        found += [_Sentence(line, part, words, around) for part, words in parts]
    return _Read(found, Corpus(line.text for line in said))


def _ranked(question: str, read: _Read) -> list[_Sentence]:
    """The sentences that share any word with the question, the most and rarest first."""
    asked = {word.key for word in words_of(question) if word.weight > 0}
    named = question.lower()
    worths = {key: read.corpus.rarity(key) for key in asked}

    def score(sentence: _Sentence) -> float:
        own = sum(worths[key] for key in asked & {word.key for word in sentence.words})
        around = sum(worths[key] for key in asked & sentence.around)
        speaker = sentence.said.speaker
        spoken = _SPEAKER if speaker and speaker.lower() in named else 0.0
        return own + _SAME_LINE * (around - own) + spoken if around else 0.0

    scored = [(score(sentence), place) for place, sentence in enumerate(read.sentences)]
    best = sorted((each for each in scored if each[0] > 0), key=lambda each: (-each[0], each[1]))
    return [read.sentences[place] for _, place in best]


def _vouched(bait: str, best: Sequence[_Sentence]) -> bool:
    wanted = {word.key for word in words_of(bait) if word.weight > 0}
    return bool(wanted) and wanted <= {key for sentence in best for key in sentence.around}


def _span(question: str, sentence: _Sentence) -> str:
    """What of the sentence answers a question of this kind."""
    asked = {word.key for word in words_of(question)}
    if _WHEN.search(question):
        return _date(sentence)
    if _HOW_MANY.search(question):
        numbers = [word for word in sentence.words if word.number or word.key in _COUNTS]
        if numbers:
            return numbers[0].text
    if _WHO.search(question):
        names = [word for word in sentence.words if word.weight >= NAME and word.key not in asked]
        if names or sentence.said.speaker:
            return names[0].plain if names else str(sentence.said.speaker)
    if _CLOSED.match(question):
        return "yes"
    return _rest(sentence, asked)


def _date(sentence: _Sentence) -> str:
    """The day that the sentence names, seen from when it was said, or that day itself."""
    at = sentence.said.at
    if at is None:
        return sentence.text
    days = days_in(sentence.text, at) or Days(at.year, at.month, at.day)
    month = None if days.month is None else _MONTHS[days.month - 1]
    parts = (days.day, month, days.year if days.year is not None else at.year)
    named = " ".join(str(part) for part in parts if part is not None)
    return named if days.length == 1 else f"the week of {named}"


def _rest(sentence: _Sentence, asked: set[str]) -> str:
    """The longest run of words that the question does not have, without hollow ends."""
    runs: list[list[Word]] = [[]]
    for word in sentence.words:
        if word.key in asked and word.weight > 0:
            runs.append([])
        else:
            runs[-1].append(word)
    best = max((_trimmed(run) for run in runs), key=lambda run: sum(w.weight for w in run))
    best = best[:_MOST_WORDS]
    return sentence.text[best[0].start : best[-1].end] if best else sentence.text


def _trimmed(run: list[Word]) -> list[Word]:
    places = [place for place, word in enumerate(run) if word.weight > WEAK]
    return run[places[0] : places[-1] + 1] if places else []
