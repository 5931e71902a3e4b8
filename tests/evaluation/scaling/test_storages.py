"""Each storage finds what it was given."""

from pathlib import Path

import pytest

from amem_integrations.core.note import Hit
from amem_integrations.evaluation.scaling.material import Asked, Made, batches
from amem_integrations.evaluation.scaling.storages import (
    STORAGES,
    Batches,
    Flat,
    K,
    Ours,
    Scanned,
    Storage,
)

MADE = [each for batch in batches(40, dimension=8) for each in batch]


def found(storage: Storage, path: Path, asked: Asked, notes: Batches = (MADE,)) -> list[object]:
    storage.write(path, notes, 8)
    return list(storage.opened(path, [asked])(asked))


def by_vector(made: Made) -> Asked:
    return Asked("What was said?", made.vector)


def test_ours_finds_the_note_of_a_vector(tmp_path: Path) -> None:
    hits = found(Ours(), tmp_path / "ours", by_vector(MADE[7]))
    assert len(hits) == K
    assert all(isinstance(hit, Hit) for hit in hits)
    assert "7" in {hit.note.key for hit in hits if isinstance(hit, Hit)}


def test_a_flat_index_finds_the_nearest_first(tmp_path: Path) -> None:
    texts = found(Flat(), tmp_path / "flat", by_vector(MADE[7]))
    assert texts[0] == MADE[7].text
    assert len(texts) == K


def test_a_flat_index_of_few_notes_gives_all(tmp_path: Path) -> None:
    assert len(found(Flat(), tmp_path / "flat", by_vector(MADE[1]), [MADE[:3]])) == 3


def test_a_scan_finds_the_text_that_has_the_words(tmp_path: Path) -> None:
    asked = Asked(f"{MADE[7].text}?", MADE[0].vector)
    assert found(Scanned(), tmp_path / "scan", asked)[0] == MADE[7].text


def test_chroma_is_missing_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "amem_integrations.evaluation.scaling.storages.find_spec", lambda name: None
    )
    missing = {name: storage.missing() for name, storage in STORAGES.items()}
    assert missing == {
        "amem": None,
        "memorybank": None,
        "readagent": None,
        "chroma": "chromadb is not installed",
    }
