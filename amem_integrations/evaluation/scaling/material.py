"""Notes, questions and vectors made up for measuring: the same ones for the same seed."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

import numpy as np

DIMENSION = 384
HOME = ("scale",)
_WORDS = [f"word{n}" for n in range(5000)]
# As in language: a few words make up much of what is said.
_WEIGHTS = list(accumulate(1 / (n + 10) for n in range(len(_WORDS))))
_SPEAKERS = ("Ann", "Bob")
_SESSION = 20
_START = datetime(2026, 1, 1, tzinfo=UTC)
_BATCH = 500


class Made(NamedTuple):
    """A note to be stored, as plain values. links: the numbers of earlier notes."""

    number: int
    text: str
    speaker: str
    session: str
    sequence: int
    at: datetime
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    context: str
    links: tuple[int, ...]
    vector: list[float]


class Asked(NamedTuple):
    """A question and its vector."""

    text: str
    vector: list[float]


def batches(size: int, *, seed: int = 0, dimension: int = DIMENSION) -> Iterator[list[Made]]:
    """`size` notes, turns of talks of 20, each linked to two before it."""
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    for start in range(0, size, _BATCH):
        count = min(_BATCH, size - start)
        vectors: list[list[float]] = numbers.normal(size=(count, dimension)).tolist()
        yield [_made(start + at, vector, chance) for at, vector in enumerate(vectors)]


def one(number: int, *, seed: int = 0, dimension: int = DIMENSION) -> Made:
    """One more note, unlike those of `batches`."""
    chance = random.Random(f"one {seed} {number}")
    numbers = np.random.default_rng([seed, number, 1])
    vector: list[float] = numbers.normal(size=dimension).tolist()
    return _made(number, vector, chance)


def questions(count: int, *, seed: int = 0, dimension: int = DIMENSION) -> list[Asked]:
    """Of six words each; no speaker, no time."""
    chance, numbers = random.Random(f"asked {seed}"), np.random.default_rng([seed, 2])
    return [
        Asked(
            f"What was said about {_sentence(chance, 6)}?",
            numbers.normal(size=dimension).tolist(),
        )
        for _ in range(count)
    ]


def _made(number: int, vector: list[float], chance: random.Random) -> Made:
    turn = number % _SESSION
    session = number // _SESSION
    return Made(
        number,
        _sentence(chance, 20),
        _SPEAKERS[turn % 2],
        f"session{session}",
        turn,
        # A hundred talks a day, so that a million notes are of years and not of millennia.
        _START + timedelta(minutes=14 * session, seconds=turn),
        tuple(_sentence(chance, 4).split()),
        tuple(_sentence(chance, 2).split()),
        _sentence(chance, 10),
        tuple({chance.randrange(number) for _ in range(2)}) if number else (),
        vector,
    )


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, cum_weights=_WEIGHTS, k=words))
