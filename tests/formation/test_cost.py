"""What forming the demo conversation costs, counted: calls and tokens, no time is taken."""

from collections.abc import Callable

import pytest

from tests.benchmarks import formation as benchmark
from tests.benchmarks.formation import Cost, Script

pytest.importorskip("llama_index.core", reason="its package brings o200k_base for tiktoken")


@pytest.fixture(scope="module")
def count() -> Callable[[str], int]:
    name, count = benchmark.tokenizer()
    assert name == "o200k_base"
    return count


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


def formed(mode: str, script: Script, count: Callable[[str], int]) -> Cost:
    cost = benchmark.cost(mode, script, count)
    assert cost.filled == 1.0
    assert cost.links > 0.9
    assert cost.evolutions > 0.2
    return cost


def test_staged_takes_at_most_three_calls_a_note(
    script: Script, count: Callable[[str], int]
) -> None:
    assert formed("staged", script, count).calls <= 3


def test_fused_takes_one_call_and_at_most_900_tokens_a_note(
    script: Script, count: Callable[[str], int]
) -> None:
    cost = formed("fused", script, count)
    assert cost.calls <= 1
    assert cost.prompt + cost.completion <= 900


def test_batched_takes_a_fifth_of_a_call_and_at_most_500_tokens_a_note_schema_included(
    script: Script, count: Callable[[str], int]
) -> None:
    cost = formed("batched", script, count)
    assert cost.calls <= 0.2
    assert cost.tokens <= 500


def test_both_cost_less_than_the_questions_of_the_reference(
    script: Script, count: Callable[[str], int]
) -> None:
    reference = benchmark.reference_cost(script, count)
    assert reference.calls > 1.9
    for mode in ("fused", "batched"):
        assert benchmark.cost(mode, script, count).tokens < reference.tokens
