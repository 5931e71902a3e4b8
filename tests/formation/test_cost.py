"""What forming the demo conversation costs, counted: calls and tokens, no time is taken."""

import pytest

from tests.benchmarks import formation as benchmark
from tests.benchmarks.formation import Cost, Script

pytest.importorskip("llama_index.core", reason="its package brings o200k_base for tiktoken")


@pytest.fixture(scope="module")
def costs() -> dict[str, Cost]:
    """What forming the conversation costs, by mode, and what the reference's questions cost."""
    name, count = benchmark.tokenizer()
    assert name == "o200k_base"
    script = Script()
    found = {mode: benchmark.cost(mode, script, count) for mode in ("staged", "fused", "batched")}
    return {**found, "reference": benchmark.reference_cost(script, count)}


@pytest.mark.parametrize(
    ("mode", "calls", "tokens"), [("staged", 3, None), ("fused", 1, 1_150), ("batched", 0.2, 420)]
)
def test_a_note_costs_so_many_calls_and_tokens_at_most(
    costs: dict[str, Cost], mode: str, calls: float, tokens: int | None
) -> None:
    cost = costs[mode]
    assert cost.filled == 1.0
    assert cost.links > 0.9
    assert cost.evolutions > 0.2
    assert cost.calls <= calls
    if tokens is not None:
        assert cost.tokens <= tokens
        assert cost.tokens < costs["reference"].tokens


def test_a_fused_question_and_its_answer_take_at_most_900_tokens(costs: dict[str, Cost]) -> None:
    assert costs["fused"].prompt + costs["fused"].completion <= 900


def test_the_reference_takes_nearly_two_calls(costs: dict[str, Cost]) -> None:
    assert costs["reference"].calls > 1.9
