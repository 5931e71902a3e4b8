"""The signals of recall: what each list, the turns around a note, and its own text say for it.

Pure functions from what the engine listed to a number a note; 0 says nothing. `rank` weighs
and adds them, `search` and `expand` call both.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from heapq import nlargest
from math import log, sqrt

from amem_integrations.core.note import Note
from amem_integrations.recall.dates import Days
from amem_integrations.stores.codec import moment

# BM25 that counts as one: about two rare words, each said once.
_WORDS_UNIT = 8.0
# Over how many of the best notes the spread of cosines is taken, and how small it may be.
_BEST = 64
_LEAST_SPREAD = 0.02
# How far a list's lowest score is believed to be the floor: fully for a long list, hardly for
# one of two or three notes, whose lowest score may be as good as its best.
_FEW = 3
# What the words of a neighbouring turn count, by how many turns later it comes.
_BESIDE: Mapping[int, float] = {-2: 0.5, -1: 0.7, 1: 0.6, 2: 0.4}
OFFSETS = tuple(_BESIDE)
_SHARES = [(offset, weight**2) for offset, weight in _BESIDE.items()]
_SHORTEST, _LONGEST = 3, 60
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_QUESTION = re.compile("[?？؟]")
_ASKS = re.compile(r"[?？؟][\s\"')”’」）]*$")

MOST_TOLD = {"statement": 1.0, "length": log(_LONGEST / _SHORTEST)}


class Turns(dict[str, int]):
    """Notes by id with their places (`schema.place_of`), and by those.

    Several stand at one place where a turn was made into several notes.
    """

    def __init__(self, places: Mapping[str, int]) -> None:
        super().__init__(places)
        self._at: dict[int, tuple[str, ...]] = {}
        for id, place in places.items():
            self._at[place] = (*self._at.get(place, ()), id)

    def beside(self, id: str, offset: int) -> tuple[str, ...]:
        """The notes among these that come so many turns later in the same session."""
        place = self.get(id)
        return () if place is None else self._at.get(place + offset, ())

    def best_at(self, values: Mapping[str, float]) -> dict[int, float]:
        """The greatest value at each place; that of a turn does not rise by its being divided."""
        best: dict[int, float] = {}
        for id, place in self.items():
            if id in values:
                best[place] = max(values[id], best.get(place, 0.0))
        return best

    def missing_beside(self, ids: Iterable[str]) -> set[int]:
        """The places around these notes that none of the notes stands at."""
        places = {self[id] + offset for id in ids if id in self for offset in OFFSETS}
        return places - self._at.keys()


def meaning(cosines: Mapping[str, float]) -> dict[str, float]:
    """How far each note's cosine rises above the list's lowest, in units of its spread.

    The unit is the mean rise of the best notes, so that embedders and namespaces of any spread
    count alike.
    """
    if not cosines:
        return {}
    floor = _floor(cosines.values())
    best = nlargest(_BEST + 1, cosines.values())
    beyond = best.pop() if len(best) > _BEST else floor
    unit = max(sum(best) / len(best) - beyond, _LEAST_SPREAD)
    return {id: max(cosine - floor, 0.0) / unit for id, cosine in cosines.items()}


def _floor(scores: Collection[float]) -> float:
    return max(min(scores), 0.0) * len(scores) / (len(scores) + _FEW)


def words(bm25: Mapping[str, float], turns: Turns | None = None) -> dict[str, float]:
    """BM25 of each note and, less, of the turns around it; as a norm, so that the best counts.

    turns: the notes to count it for, with those around them; without, each counts alone.
    """
    if turns is None:
        return {id: score / _WORDS_UNIT for id, score in bm25.items()}
    around: dict[int, float] = {}
    for place, score in turns.best_at(bm25).items():
        for offset, share in _SHARES:
            there = place - offset
            around[there] = around.get(there, 0.0) + share * score * score
    found: dict[str, float] = {}
    for id, place in turns.items():
        squares = bm25.get(id, 0.0) ** 2 + around.get(place, 0.0)
        if squares:
            found[id] = sqrt(squares) / _WORDS_UNIT
    return found


def reply(meanings: Mapping[str, float], turns: Turns) -> dict[str, float]:
    """What the next turn means: a remark is often understood from its answer."""
    best = turns.best_at(meanings)
    found = {id: best.get(place + 1, 0.0) for id, place in turns.items()}
    return {id: value for id, value in found.items() if value}


def date(days: Days | None, moments: Mapping[str, int]) -> dict[str, float]:
    """How near each note's time, in microseconds, is to the days that the question names."""
    if days is None:
        return {}
    return {id: days.worth(moment(said)) for id, said in moments.items()}


def answered(notes: Iterable[Note]) -> dict[str, list[str]]:
    """Those of the notes that come right after a turn with a question, and the ids of what asks."""
    turns: dict[tuple[str, int], list[Note]] = {}
    for note in notes:
        if note.session is not None and note.sequence is not None:
            turns.setdefault((note.session, note.sequence), []).append(note)
    found: dict[str, list[str]] = {}
    for (session, sequence), those in turns.items():
        before = turns.get((session, sequence - 1), ())
        asking = [note.id for note in before if _QUESTION.search(note.content)]
        if asking:
            found.update(dict.fromkeys((note.id for note in those), asking))
    return found


def told(note: Note) -> dict[str, float]:
    """What a note's own text says for it: that it states something, and how much it can say."""
    text = note.content
    size = min(max(len(_WORD.findall(text[:2000])), _SHORTEST), _LONGEST)
    return {
        "statement": 0.0 if _ASKS.search(text[-200:]) else 1.0,
        "length": log(size / _SHORTEST),
    }
