"""Whatever is done to a memory, in any order: it stays whole, and what was forgotten is gone."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError
from amem_integrations.stores.read import load_points
from tests.support import MARK, chat_model, copies_everything, io_of, open_memory


class AnyHistory(RuleBasedStateMachine):
    """Adds, updates, forgets, reverts and resumes, each text with a mark of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = open_memory(model=chat_model(copies_everything), neighbours=4)
        self.marks: dict[str, list[str]] = {}
        self.gone: list[str] = []
        self.count = 0

    def teardown(self) -> None:
        self.memory.close()

    def _text(self) -> str:
        self.count += 1
        return f"The redis cache mark{self.count}x"

    def _any(self, place: int) -> str:
        return list(self.marks)[place % len(self.marks)]

    @rule(formation=st.sampled_from(["inline", "inline", "off"]))
    def add(self, formation: Any) -> None:
        text = self._text()
        note = self.memory.add(text, formation=formation)
        self.marks[note.id] = MARK.findall(text)

    @precondition(lambda self: self.marks)
    @rule(place=st.integers(0, 9))
    def update(self, place: int) -> None:
        note, text = self._any(place), self._text()
        self.memory.update(note, text)
        self.marks[note] += MARK.findall(text)

    @precondition(lambda self: self.marks)
    @rule(place=st.integers(0, 9))
    def forget(self, place: int) -> None:
        note = self._any(place)
        assert self.memory.forget(note).notes == 1
        self.gone += [note, *self.marks.pop(note)]

    @precondition(lambda self: self.marks)
    @rule(place=st.integers(0, 9), version=st.none() | st.integers(1, 6))
    def revert(self, place: int, version: int | None) -> None:
        note = self._any(place)
        # There may be nothing to undo.
        with suppress(InvalidInputError):
            self.memory.revert(note, to_version=version)

    @rule(parked=st.booleans())
    def resume(self, parked: bool) -> None:
        if parked:
            self.memory.admin.retry()
        else:
            self.memory.resume()

    @invariant()
    def nothing_of_what_was_forgotten_is_stored(self) -> None:
        stored = "\n".join(self._stored())
        assert [each for each in self.gone if each in stored] == []

    @invariant()
    def the_memory_is_whole(self) -> None:
        assert self.memory.admin.check() == []
        assert self.memory.count() == len(self.marks)

    def _stored(self) -> Iterator[str]:
        for point in run(load_points(io_of(self.memory))):
            yield json.dumps([point.id, point.payload])


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(
    max_examples=8, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
