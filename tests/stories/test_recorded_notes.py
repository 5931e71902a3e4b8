"""What the notes that a strong model makes of the chat are worth to recall."""

import importlib.util
from statistics import fmean

import pytest

from amem_integrations.embedders.dense import NamedEmbedder
from amem_integrations.embedders.fastembed import OFFLINE_MODULE
from amem_integrations.evaluation.metrics import recall
from amem_integrations.evaluation.recall import timed
from tests.benchmarks.replayed_notes import RAW, replayed_ranks, story

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec(OFFLINE_MODULE) is None, reason="extra [offline] is not installed"
)


def test_formed_notes_are_found_better_than_raw_ones(embedder: NamedEmbedder) -> None:
    dataset, recorded = story()
    named, questions = timed(embedder)
    raw, formed = (
        replayed_ranks(dataset, recorded, form, named, questions) for form in (RAW, "+ questions")
    )
    at_five = [fmean(recall(ranks, 5) for ranks in found) for found in (raw, formed)]
    first = [fmean(recall(ranks, 1) for ranks in found) for found in (raw, formed)]
    assert at_five[0] >= 0.95
    assert at_five[1] >= max(0.98, at_five[0])
    assert first[1] >= first[0]
