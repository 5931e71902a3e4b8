"""What the tests of batched formation share: notes, one run of the graph, and wrong answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, Note
from amem_integrations.formation.state import initial_state
from amem_integrations.testing import ScriptedChatModel
from tests.support import again, judgement, shown_batch, shown_notes

REDIS = ["The redis cache", "Redis eviction policy", "The redis cache needs memory"]


def raw(memory: AgenticMemory, texts: Sequence[str], **about: Any) -> list[Note]:
    return memory.add_many([{"content": text, **about} for text in texts], formation="off")


def form(memory: AgenticMemory, notes: Sequence[Note]) -> list[Note]:
    """The notes after one run of the graph."""
    memory.graph().invoke(initial_state(notes))
    return [again(memory, note) for note in notes]


def events(memory: AgenticMemory) -> Mapping[str, int]:
    return memory.admin.health()


def answering(change: Callable[[list[dict[str, Any]]], Any]) -> ScriptedChatModel:
    """Answers a batched question with what `change` makes of the right answer; others rightly."""

    def answer(messages: Sequence[BaseMessage]) -> Any:
        batch = shown_batch(messages)
        if not batch:
            return judgement(shown_notes(messages)[0])
        return change([{"n": n, **judgement(text)} for n, (text, _) in batch.items()])

    return ScriptedChatModel(answer)


def steps(memory: AgenticMemory) -> dict[str, int]:
    return {name: use.calls for name, use in memory.usage().by_step.items()}
