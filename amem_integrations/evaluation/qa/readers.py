"""Readers answer a question from evidence: a chat model, rules, and two that know the answers.

A judge asks a model whether an answer is right.
"""

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, cast

from amem_integrations.analysts.sentences import sentence_texts
from amem_integrations.analysts.terms import Corpus
from amem_integrations.analysts.words import NAME, WEAK, Word, words_of
from amem_integrations.core.io import ChatModel
from amem_integrations.errors import AnalysisError
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question
from amem_integrations.evaluation.qa.system import TEXT, Answer, Evidence, ask, schemas
from amem_integrations.recall.dates import Days, days_in

ABSTENTION = "Not mentioned in the conversation"
RULES = "You answer questions about a conversation from what was retrieved of it."
_SHORT = (
    "Answer the question in a short phrase, with exact words of the conversation wherever that "
    "is possible.\nQuestion: {question}"
)
_DATE = (
    "Answer the question with an approximate date, told from the dates of what was said, in as few "
    "words as possible, with the month in words, such as: 7 May 2023.\nQuestion: {question}"
)
_CHOICE = (
    "Choose the one of the two answers that is right, and repeat it: {first!r} or {second!r}.\n"
    "Question: {question}"
)
PROMPTS = {"temporal": _DATE, "adversarial": _CHOICE, "any other": _SHORT}
"""By category; the report shows them, with RULES."""
JUDGE_RULES = (
    "You grade answers to questions about a conversation that you do not see. An answer is right "
    "if it says what the reference says, in whatever words; more detail, or a date in another "
    "form, does no harm. Whatever contradicts the reference or leaves its matter out is wrong."
)
_UNTOLD = (
    "The conversation does not tell. Right is only an answer that says so; in particular, it is "
    "not: {bait}"
)
_VERDICT = 'Is the answer right? "verdict": "right" or "wrong".'


def gold_of(question: Question) -> str:
    """Return the right answer; for an adversarial question, the bait."""
    return question.adversarial_answer or question.answer or ""


class Reader(Protocol):
    """Answers one question from one system's evidence. Called from several threads at once.

    name: tells apart readers whose answers can differ, models and prompts included.
    """

    @property
    def name(self) -> str: ...

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        """Return the answer; "" for none. Raises AnalysisError if the model gives none."""
        ...


class ModelReader:
    """A chat model that is asked for a short phrase, a date, or one of two answers.

    As in the paper's evaluation (its appendix, and the authors' code): by category, category 5
    as a choice between "not mentioned" and the adversarial answer, in an order drawn by seed
    and question. Answers come within a schema. The temperature is the model's own. Systems show
    dates in numbers and LoCoMo's answers are in words, so the prompt says how to write one.
    """

    def __init__(self, model: ChatModel, *, seed: int = 0) -> None:
        self._model = model
        self._seed = seed
        prompts = "".join([RULES, *PROMPTS.values(), str(seed)])
        self.name = f"{model.name}/{hashlib.sha256(prompts.encode()).hexdigest()[:8]}"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        request = self._request(conversation, question)
        answer = ask(self._model, "answer", RULES, evidence.text, request, {"answer": TEXT})
        if "answer" not in answer:
            raise AnalysisError(
                f"{self._model.name} gave no answer to a question of {conversation.id!r}.",
                reason="unparsable",
                retryable=True,
            )
        return str(answer["answer"]).strip()

    def _request(self, conversation: Conversation, question: Question) -> str:
        bait = question.adversarial_answer
        if bait is None:
            prompt = _DATE if question.category == "temporal" else _SHORT
            return prompt.format(question=question.text)
        drawn = random.Random(f"{self._seed} {conversation.id} {question.text}")
        first, second = drawn.sample([ABSTENTION, bait], 2)
        return _CHOICE.format(first=first, second=second, question=question.text)


class OracleReader:
    """Gives the right answer if the text of all of its evidence is there to be read, else none.

    Its score is the share of questions whose evidence a system brings.
    """

    name = "oracle"

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        shown = " ".join(_letters(statement.text) for statement in statements(evidence.text))
        wanted = [turn.text for turn in conversation.turns if turn.id in question.evidence]
        return gold_of(question) if all(_letters(text) in shown for text in wanted) else ""


def _letters(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum())


class ShuffledReader:
    """Gives the right answer to another question of the category, drawn by seed: chance."""

    def __init__(self, dataset: Dataset, *, seed: int = 0) -> None:
        # Other questions are shuffled otherwise.
        self.name = f"shuffled/{seed}/{len(dataset.asked)}"
        by_category: defaultdict[str, list[tuple[str, Question]]] = defaultdict(list)
        for conversation, question in dataset.asked:
            by_category[question.category].append((conversation.id, question))
        draw = random.Random(seed)
        self._answers: dict[tuple[str, Question], str] = {}
        for asked in by_category.values():
            golds = [gold_of(question) for _, question in asked]
            draw.shuffle(golds)
            self._answers |= zip(asked, golds, strict=True)

    def answer(self, conversation: Conversation, question: Question, evidence: Evidence) -> str:
        return self._answers[conversation.id, question]


class Judge:
    """Asks `model` whether each answer is right, `concurrency` side by side.

    A measure beside the others: models are lenient and disagree, so compare only what one judge
    has judged.
    """

    def __init__(self, model: ChatModel, *, concurrency: int = 1) -> None:
        self._model = model
        self._concurrency = concurrency

    def verdicts(
        self, asked: Sequence[tuple[Conversation, Question]], answers: Sequence[Answer]
    ) -> list[float | None]:
        """Return 1 for right, 0 for wrong; None where the question failed, or the judge did."""
        questions = [asked[answer.place][1] for answer in answers]
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="amem-judge") as pool:
            return list(pool.map(self._verdict, questions, answers))

    def _verdict(self, question: Question, answer: Answer) -> float | None:
        if answer.failure is not None:
            return None
        if not answer.text.strip():
            return 0.0
        bait = question.adversarial_answer
        reference = question.answer if bait is None else _UNTOLD.format(bait=bait)
        quoted = f"Question: {question.text}\nReference: {reference}\nAnswer: {answer.text}"
        properties = {"verdict": schemas.one_of(["right", "wrong"])}
        try:
            verdict = ask(self._model, "judge", JUDGE_RULES, quoted, _VERDICT, properties)
        except AnalysisError:
            return None
        return {"right": 1.0, "wrong": 0.0}.get(str(verdict.get("verdict")))


_DATED = re.compile(r"\[(\d{4}-\d\d-\d\d)\]\s*(.*)")
_SPEAKER = re.compile(r"([^:\n]{1,40}): (.+)")
_FENCE = re.compile("`{3,}(?:jsonl)?")


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
    if "```jsonl" in text:
        return list(_packed(lines))
    found: list[Statement] = []
    day: datetime | None = None
    for line in lines:
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


def _packed(lines: Sequence[str]) -> Iterator[Statement]:
    for line in lines:
        # The sentence above the block is no note.
        if line.startswith("{"):
            note = cast("dict[str, Any]", json.loads(line))
            at = datetime.fromisoformat(note["time"])
            yield Statement(note["content"], note.get("speaker"), at)


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
    days = days_in(sentence.text, at) or Days(at.year, at.month, at.day)
    month = None if days.month is None else f"{datetime(2000, days.month, 1):%B}"
    parts = (days.day, month, days.year if days.year is not None else at.year)
    named = " ".join(str(part) for part in parts if part is not None)
    return named if days.length == 1 else f"the week of {named}"


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
