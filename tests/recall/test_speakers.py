"""Who speaks in a namespace: known at once, kept for seconds, gone with the notes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from amem_integrations import AgenticMemory
from amem_integrations.core.caches import Speakers
from tests.support import io_of, open_memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def signals_of(memory: AgenticMemory, query: str) -> set[str]:
    return {name for hit in memory.search(query) for name in hit.why}


def test_a_new_speaker_is_known_at_once() -> None:
    with open_memory() as memory:
        memory.add("The cache is slow", speaker="Ada")
        assert "speaker" not in signals_of(memory, "What did Bea say?")
        memory.add("The kettle is slow", speaker="Bea")
        assert "speaker" in signals_of(memory, "What did Bea say?")


def test_speakers_are_forgotten_with_their_notes() -> None:
    with open_memory() as memory:
        memory.add("The cache is slow", speaker="Ada")
        note = memory.add("The kettle is slow", speaker="Bea")
        memory.search("What did Bea say?")
        kept, io = io_of(memory).caches.speakers, io_of(memory)
        assert set(kept.get('["default"]', io.now()) or ()) == {"Ada", "Bea"}
        memory.forget(note)
        assert kept.get('["default"]', io.now()) is None


def test_what_another_memory_over_the_store_writes_is_known_at_once(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory, open_memory(tmp_path) as other:
        memory.add("The cache is slow", speaker="Ada")
        assert "speaker" not in signals_of(memory, "What did Bea say?")
        other.add("The kettle is slow", speaker="Bea")
        assert "speaker" in signals_of(memory, "What did Bea say?")


def test_speakers_are_kept_for_seconds_and_not_past_a_write() -> None:
    speakers = Speakers()
    drops = speakers.drops
    speakers.keep("n", {"Ada"}, NOW, drops)
    assert speakers.get("n", NOW + timedelta(seconds=9)) == {"Ada"}
    assert speakers.get("n", NOW + timedelta(seconds=11)) is None
    assert speakers.get("n", NOW - timedelta(seconds=1)) is None
    speakers.drop("n")
    speakers.keep("n", {"Ada"}, NOW, drops)
    assert speakers.get("n", NOW) is None
