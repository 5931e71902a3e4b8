"""Signals of recall: what the lists, the turns around a note and its own text say for it.

A signal is a function from `Evidence` to a number for each note, and one line of `RecallOptions`,
which gives its name and its weight. `fusion` weighs and adds the numbers.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from heapq import nlargest
from math import log, sqrt
from typing import Any, NamedTuple

from amem_integrations.core.note import Note
from amem_integrations.errors import InvalidInputError
from amem_integrations.recall.days import Days

__all__ = ["DEFAULT_OPTIONS", "RecallOptions"]

# The BM25 score that counts as one: about two rare words, each said once.
_WORDS_UNIT = 8.0
# How many of the best notes the spread of cosines is taken over, and its least value.
_BEST = 64
_LEAST_SPREAD = 0.02
# A list of so many notes has half of its lowest score as its floor; a longer one, more of it.
_FEW = 3
# The weight of the words of a neighbouring turn, by how many turns later it comes.
_BESIDE: Mapping[int, float] = {-2: 0.5, -1: 0.7, 1: 0.6, 2: 0.4}
OFFSETS = tuple(_BESIDE)
_SHARES = [(offset, weight**2) for offset, weight in _BESIDE.items()]
_SHORTEST, _LONGEST = 3, 60
# Shares of the greatest nearness: below the first a note counts nothing, above the second in full,
# and from the third on it may say what the nearest says, but newer.
_FAR, _NEAR, _ON_IT = 0.4, 0.7, 0.6
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_QUESTION = re.compile("[?？؟]")
_ASKS = re.compile(r"[?？؟][\s\"')”’」）]*$")


class Turns(dict[str, int]):
    """The place (`codec.place_of`) of each note by id; a turn of several notes is one place."""

    def best_at(self, values: Mapping[str, float]) -> dict[int, float]:
        """The greatest value at each place: dividing a turn does not raise it."""
        best: dict[int, float] = {}
        for id in values.keys() & self:
            place, value = self[id], values[id]
            if value > best.get(place, 0.0):
                best[place] = value
        return best

    def missing_beside(self, ids: Iterable[str]) -> set[int]:
        """The places around the notes `ids` at which no note is known."""
        places = {self[id] + offset for id in ids if id in self for offset in OFFSETS}
        return places.difference(self.values())


@dataclass(frozen=True)
class Evidence:
    """What is known of the notes that a search found.

    meanings: nearness by note id, see `relative_nearness`. asked: the same of the questions that
    notes answer. bm25: scores by note id.
    speakers: how surely the question asks for the note's speaker, in (0, 1].
    about: how surely the question asks for each speaker's words.
    days: the days that the question names. now: whether it asks for what holds now.
    moments: when each note was said, by note id; on the clock that was given.
    turns: the best notes and the turns around them; None before these were looked up.
    notes: the notes that were read.
    """

    meanings: Mapping[str, float] = field(default_factory=dict[str, float])
    asked: Mapping[str, float] = field(default_factory=dict[str, float])
    bm25: Mapping[str, float] = field(default_factory=dict[str, float])
    speakers: Mapping[str, float] = field(default_factory=dict[str, float])
    about: Mapping[str, float] = field(default_factory=dict[str, float])
    days: Days | None = None
    now: bool = False
    moments: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    turns: Turns | None = None
    notes: Mapping[str, Note] = field(default_factory=dict[str, Note])


def relative_nearness(
    cosines: Mapping[str, float], others: Mapping[str, float] | None = None
) -> dict[str, float]:
    """How far each cosine rises above the list's lowest, in units of the list's spread.

    The unit is the mean rise of the best notes, so that embedders and namespaces of any spread
    count alike.
    others: the list whose lowest and whose spread count, if not these cosines.
    """
    measure = others or cosines
    if not measure:
        return {}
    floor = _floor(measure.values())
    best = nlargest(_BEST + 1, measure.values())
    beyond = best.pop() if len(best) > _BEST else floor
    unit = max(sum(best) / len(best) - beyond, _LEAST_SPREAD)
    return {id: max(cosine - floor, 0.0) / unit for id, cosine in cosines.items()}


def _floor(scores: Collection[float]) -> float:
    return max(min(scores), 0.0) * len(scores) / (len(scores) + _FEW)


def score_meaning(evidence: Evidence) -> Mapping[str, float]:
    return evidence.meanings


def score_asked(evidence: Evidence) -> Mapping[str, float]:
    return evidence.asked


def score_words(evidence: Evidence) -> Mapping[str, float]:
    """BM25 of each note and, less, of the turns around it; a norm, so that the best counts."""
    bm25, turns = evidence.bm25, evidence.turns
    if turns is None:
        return {id: score / _WORDS_UNIT for id, score in bm25.items()}
    around: dict[int, float] = {}
    for place, score in turns.best_at(bm25).items():
        for offset, share in _SHARES:
            there = place - offset
            around[there] = around.get(there, 0.0) + share * score * score
    scores: dict[str, float] = {}
    for id, place in turns.items():
        squares = bm25.get(id, 0.0) ** 2 + around.get(place, 0.0)
        if squares:
            scores[id] = sqrt(squares) / _WORDS_UNIT
    return scores


def score_reply(evidence: Evidence) -> Mapping[str, float]:
    """The meaning of the next turn: a remark is often understood from its answer."""
    turns = evidence.turns or Turns({})
    best = turns.best_at(evidence.meanings)
    return {id: best[place + 1] for id, place in turns.items() if best.get(place + 1)}


def score_answer(evidence: Evidence) -> Mapping[str, float]:
    """The meaning of the turn right before, if that has a question."""
    turns: dict[tuple[str | None, int], list[Note]] = {}
    for note in evidence.notes.values():
        if note.sequence is not None:
            turns.setdefault((note.session, note.sequence), []).append(note)
    scores: dict[str, float] = {}
    for (session, sequence), notes in turns.items():
        before = turns.get((session, sequence - 1), ())
        questions = [note.id for note in before if _QUESTION.search(note.content)]
        best = max((evidence.meanings.get(id, 0.0) for id in questions), default=0.0)
        scores.update(dict.fromkeys((note.id for note in notes), best))
    return scores


def score_speaker(evidence: Evidence) -> Mapping[str, float]:
    return evidence.speakers


def score_date(evidence: Evidence) -> Mapping[str, float]:
    """How near each note's time is to the days that the question names."""
    days = evidence.days
    if days is None:
        return {}
    return {id: days.nearness(days.local(time)) for id, time in evidence.moments.items()}


def score_newest(evidence: Evidence) -> Mapping[str, float]:
    """Where the question asks for what holds now: how near the newest statement on the matter is.

    Statements that are newer count by their nearness too; older ones do not. A statement is on the
    matter if it is about as near to the question as the nearest. It is one by somebody whose words
    are asked for, if any are.
    """
    if not evidence.now:
        return {}
    statements = [
        note
        for id, note in evidence.notes.items()
        if id in evidence.meanings
        and not _asks(note)
        and (not evidence.about or note.speaker in evidence.about)
    ]
    best = max((evidence.meanings[note.id] for note in statements), default=0.0)
    scores: dict[str, float] = {}
    newest_first = sorted(statements, key=lambda n: n.occurred_at or n.created_at, reverse=True)
    for note in newest_first:
        share = evidence.meanings[note.id] / best if best else 0.0
        scores[note.id] = min(max(share - _FAR, 0.0) / (_NEAR - _FAR), 1.0)
        if share >= _ON_IT:
            break
    return scores


def score_statement(evidence: Evidence) -> Mapping[str, float]:
    """1 for a note that does not end in a question."""
    notes = evidence.notes.items()
    return {id: 0.0 if _asks(note) else 1.0 for id, note in notes}


def _asks(note: Note) -> bool:
    return _ASKS.search(note.content[-200:]) is not None


def score_length(evidence: Evidence) -> Mapping[str, float]:
    """How much a note can say: the logarithm of its number of words."""
    sizes = {id: len(WORD.findall(note.content[:2000])) for id, note in evidence.notes.items()}
    return {id: log(min(max(size, _SHORTEST), _LONGEST) / _SHORTEST) for id, size in sizes.items()}


class Signal(NamedTuple):
    """most: the greatest value for a linked note, if the signal needs the text; else None."""

    score: Callable[[Evidence], Mapping[str, float]]
    most: float | None


def _signal(
    weight: float, score: Callable[[Evidence], Mapping[str, float]], *, most: float | None = None
) -> Any:
    return field(default=weight, metadata={"signal": Signal(score, most)})


SHARES = ("outdated", "contested", "audited", "question")
"""Settings that say what is left of a score; 1 switches one off."""


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How notes are found and ranked. The first ten are weights; 0 switches a signal off.

    Attributes:
        meaning: semantic similarity of the note and the question.
        asked: semantic similarity of the question that the note answers, as a model put it.
        words: keyword match (BM25), including the neighbouring turns.
        reply: semantic similarity of the next turn.
        answer: semantic similarity of the turn before, if it is a question; needs `meaning`.
        speaker: the question names the note's speaker.
        date: the question names the note's day.
        newest: the question asks for what holds now, and no newer note on the matter was found.
        statement: the note is not a question.
        length: longer notes, up to 60 words.
        damping: the share of a score that a link of weight 1 passes on, in [0, 1]; 0 ignores links.
        follow_best: the number of best hits whose links are followed.
        fan_out: linked notes considered at each hop, the nearest to the question.
        expand_best: the number of best hits whose neighbouring turns are looked up.
        outdated: the share of its score that an outdated note keeps. A question in the words of
            the old note gives it up to twice the score of its successor: half puts it behind.
        contested: the share that a note keeps while a contradiction is unresolved.
        audited: the share that a note under audit keeps.
        question: the share that a note keeps that only asks, where sources are weighed.
        min_path_confidence: the confidence, in [0, 1], that a path of links needs to pass on its
            full share; 0: no limit.
        drop_weak_paths: whether a path below that passes on nothing.
        fold_duplicates: whether near-duplicates of a better hit give way.
        diversity: maximal marginal relevance, in [0, 1]: the share of dissimilarity in the ranking.
        min_relevance: the least relevance of a hit, in [0, 1]; None: relevance is not measured.
            See `relevance`.
        reranker: reorders the best hits: the name of a fastembed cross-encoder, a LangChain
            document compressor, or a function from a query and texts to scores.

    Raises:
        InvalidInputError: a value lies where it may not.

    Examples:
        >>> from amem_integrations.recall.signals import RecallOptions
        >>> RecallOptions(words=0).weights["words"]
        0
    """

    meaning: float = _signal(0.5, score_meaning)
    asked: float = _signal(0.3, score_asked)
    words: float = _signal(3.0, score_words)
    reply: float = _signal(0.2, score_reply)
    answer: float = _signal(0.1, score_answer, most=0.0)
    speaker: float = _signal(3.0, score_speaker)
    date: float = _signal(6.0, score_date)
    newest: float = _signal(3.5, score_newest, most=1.0)
    statement: float = _signal(0.5, score_statement, most=1.0)
    length: float = _signal(0.3, score_length, most=log(_LONGEST / _SHORTEST))
    damping: float = 0.25
    follow_best: int = 5
    fan_out: int = 32
    expand_best: int = 40
    outdated: float = 0.5
    contested: float = 0.9
    audited: float = 0.5
    question: float = 0.5
    min_path_confidence: float = 0.0
    drop_weak_paths: bool = False
    fold_duplicates: bool = True
    diversity: float = 0.0
    min_relevance: float | None = None
    reranker: Any = None

    def __post_init__(self) -> None:
        weights = self.weights
        if not (min(weights.values()) >= 0 and self.meaning + self.words > 0):
            raise InvalidInputError(
                "Signal weights are 0 or more, and meaning or words is above 0; got "
                f"{', '.join(f'{name}={weight}' for name, weight in weights.items())}."
            )
        for name in ("damping", *SHARES, "min_path_confidence", "diversity"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInputError(f"{name} lies in [0, 1]; got {getattr(self, name)}.")
        check_relevance(self.min_relevance)
        for name, least in (("follow_best", 1), ("fan_out", 1), ("expand_best", 0)):
            if getattr(self, name) < least:
                raise InvalidInputError(f"{name} is at least {least}; got {getattr(self, name)}.")

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each signal, by name."""
        return {name: getattr(self, name) for name in SIGNALS}


def check_relevance(least: object) -> None:
    """Raise InvalidInputError if this can be no `min_relevance`."""
    if least is None:
        return
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        raise InvalidInputError(
            f"min_relevance is a number in [0, 1], such as 0.1, or None; got {least!r}."
        )


SIGNALS: Mapping[str, Signal] = {
    setting.name: setting.metadata["signal"]
    for setting in fields(RecallOptions)
    if setting.metadata
}
DEFAULT_OPTIONS = RecallOptions()
"""What a memory searches with by default."""


def score_lists(evidence: Evidence) -> dict[str, Mapping[str, float]]:
    """The values of each signal that needs no text."""
    return {name: signal.score(evidence) for name, signal in SIGNALS.items() if signal.most is None}


def score_texts(evidence: Evidence) -> dict[str, Mapping[str, float]]:
    """The values of each signal that needs the notes' text."""
    return {
        name: signal.score(evidence) for name, signal in SIGNALS.items() if signal.most is not None
    }
