"""A reader by rules: it answers offline with a span of the best sentence of the evidence."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from amem_integrations.analysts.sentences import sentence_texts
from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.words import NAME, WEAK, Word, words_of
from amem_integrations.evaluation.dataset import Conversation, Question
from amem_integrations.evaluation.qa.readers import ABSTENTION
from amem_integrations.evaluation.qa.system import Evidence
from amem_integrations.recall.dates import days_in
from amem_integrations.recall.prompt import LINE

_DATED = re.compile(r"\[(\d{4}-\d\d-\d\d)\]\s*(.*)")
_SPEAKER = re.compile(r"([^:\n]{1,40}): (.+)")
_FENCE = re.compile("`{3,}")


@dataclass(frozen=True, slots=True)
class Statement:
    """A line of evidence. at: the beginning of the day or the moment it is shown with."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


def statements(text: str) -> list[Statement]:
    """Return the lines of evidence: packed notes, or turns; a date alone counts for what follows.

    For readers that are no model; a model reads the text as it is.
    """
    lines = [line for line in text.split("\n") if line.strip() and not _FENCE.fullmatch(line)]
    found: list[Statement] = []
    day: datetime | None = None
    # The sentence above packed notes is none of them.
    for line in lines[1:] if text.endswith("```") else lines:
        if packed := LINE.fullmatch(line):
            found.append(_packed(packed))
            continue
        dated = _DATED.fullmatch(line)
        at = datetime.fromisoformat(dated[1]).replace(tzinfo=UTC) if dated else day
        content = dated[2] if dated else line
        if not content:
            day = at
            continue
        spoken = _SPEAKER.fullmatch(content)
        speaker, content = (spoken[1], spoken[2]) if spoken else (None, content)
        found.append(Statement(content, speaker, at))
    return found


def _packed(line: re.Match[str]) -> Statement:
    speaker = line["speaker"]
    if speaker and speaker.startswith('"'):
        speaker = json.loads(speaker)
    at = datetime.fromisoformat(line["time"]).replace(tzinfo=UTC)
    return Statement(json.loads(line["content"]), speaker, at)


_MOST_WORDS = 8
_NEAR = 3
"""So many of the best sentences may support an adversarial answer."""
_SAME_LINE, _SAME_SPEAKER = 0.4, 1.0
_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:day|date|month|year|week)\b|什么时候|哪[一]?[天年月]|何时", re.I
)
_HOW_MANY = re.compile(r"\bhow (?:many|much|old|long|tall|often)\b|多少|几[个天岁]|多长", re.I)
_WHO = re.compile(r"\bwho(?:se|m)?\b|谁", re.I)
_CLOSED = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|would|will|has|have|had|should)\b", re.I
)
_COUNT = re.compile(
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|[两三四五六]"
)


class _Sentence(NamedTuple):
    """A sentence, with the keys of all words of its line."""

    statement: Statement
    text: str
    words: list[Word]
    around: frozenset[str]


class ExtractiveReader:
    """Answers by rules with a span of the best sentence: a date, a number, a name, or the rest.

    For an adversarial question it says what the bait says, if the best sentences have all of its
    words, and else that it is not mentioned. Its answers are no measure of what a model would say;
    everything can be run and compared offline with them.
    """

    name = "extractive"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        best = _ranked_sentences(question.text, *_parsed(evidence.text))[:_NEAR]
        bait = question.adversarial_answer
        if bait is None:
            return _span(question.text, best[0]) if best else ""
        wanted = {word.key for word in words_of(bait) if word.weight > 0}
        found = {key for sentence in best for key in sentence.around}
        return bait if wanted and wanted <= found else ABSTENTION


@lru_cache(maxsize=128)
def _parsed(text: str) -> tuple[list[_Sentence], Corpus]:
    lines = statements(text)
    found: list[_Sentence] = []
    for line in lines:
        parts = [(part, words_of(part)) for part in sentence_texts(line.text)]
        around = frozenset(word.key for _, words in parts for word in words)
        found += [_Sentence(line, part, words, around) for part, words in parts]
    return found, Corpus(line.text for line in lines)


def _ranked_sentences(
    question: str, candidates: Sequence[_Sentence], corpus: Corpus
) -> list[_Sentence]:
    """Return the sentences that share any word with the question, the most and rarest first."""
    asked = {word.key for word in words_of(question) if word.weight > 0}
    rarity = {key: corpus.rarity(key) for key in asked}

    def score(sentence: _Sentence) -> float:
        own = sum(rarity[key] for key in asked & {word.key for word in sentence.words})
        around = sum(rarity[key] for key in asked & sentence.around)
        speaker = sentence.statement.speaker
        named = _SAME_SPEAKER if speaker and speaker.lower() in question.lower() else 0.0
        return own + _SAME_LINE * (around - own) + named if around else 0.0

    scored = [(score(sentence), sentence) for sentence in candidates]
    ranked = sorted(scored, key=lambda pair: -pair[0])
    return [sentence for value, sentence in ranked if value > 0]


def _span(question: str, sentence: _Sentence) -> str:
    """Return what of the sentence answers a question of this kind."""
    asked = {word.key for word in words_of(question)}
    if _WHEN.search(question):
        return _date(sentence)
    if _HOW_MANY.search(question):
        numbers = [word for word in sentence.words if word.number or _COUNT.fullmatch(word.key)]
        if numbers:
            return numbers[0].text
    if _WHO.search(question):
        names = [word for word in sentence.words if word.weight >= NAME and word.key not in asked]
        if names or sentence.statement.speaker:
            return names[0].plain if names else str(sentence.statement.speaker)
    if _CLOSED.match(question):
        return "yes"
    return _rest(sentence, asked)


def _date(sentence: _Sentence) -> str:
    """Return the day that the sentence names, seen from when it was said, or that day itself."""
    at = sentence.statement.at
    if at is None:
        return sentence.text
    days = days_in(sentence.text, at)
    first, length = (at, 1) if days is None else (days.start, (days.end - days.start).days)
    if length > 31:
        return f"{first.year}"
    if length > 27:
        return f"{first:%B} {first.year}"
    named = f"{first.day} {first:%B} {first.year}"
    return named if length == 1 else f"the week of {named}"


def _rest(sentence: _Sentence, asked: set[str]) -> str:
    """Return the longest run of words that the question lacks, without weak words at its ends."""
    runs: list[list[Word]] = [[]]
    for word in sentence.words:
        if word.key in asked and word.weight > 0:
            runs.append([])
        else:
            runs[-1].append(word)
    best: list[Word] = []
    for run in runs:
        strong = [place for place, word in enumerate(run) if word.weight > WEAK]
        trimmed = run[strong[0] : strong[-1] + 1] if strong else []
        best = max(best, trimmed, key=lambda words: sum(word.weight for word in words))
    best = best[:_MOST_WORDS]
    return sentence.text[best[0].start : best[-1].end] if best else sentence.text
