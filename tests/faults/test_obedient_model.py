"""What a model does that obeys stored text can be undone, and touches the text of no other note."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, Note
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.faults.attacks import HARMLESS, KINDS, of_kind, valid
from tests.faults.obedient import answer, obedient

KEPT = {
    "content",
    "speaker",
    "session",
    "key",
    "metadata_json",
    "value_json",
    "occurred_at",
    "source",
}
UNDONE = {"keywords", "tags", "context", "status", "valid_until", "contested_by", "trust"}


def beyond(messages: list[BaseMessage]) -> dict[str, Any]:
    """Obey further than the schema goes: other ids, other fields, numbers out of range."""
    answer = obedient(messages)
    for change in answer["evolutions"]:
        change |= {"content": "pwned", "speaker": "pwned", "delete": True, "source": "user"}
    answer["links"] += [
        {"to": n, "reason": "", "kind": "merge", "strength": 9} for n in ("0", "99")
    ]
    return answer | {"delete": ["1"], "content": "pwned", "value": {}, "metadata": {}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("model", "lifecycle"), [(obedient, False), (obedient, True), (beyond, True)]
)
def test_what_an_obedient_model_changes_can_be_undone(
    model: Callable[[list[BaseMessage]], dict[str, Any]], lifecycle: bool, kind: str
) -> None:
    script = ScriptedChatModel(lambda asked: answer("boat", ()) if quiet else model(asked))
    with AgenticMemory(model=script, embedder=HashEmbedder(), lifecycle=lifecycle) as memory:
        quiet = True
        trusted = [memory.add(a.text, speaker="Ada", source="user") for a in HARMLESS[:4]]
        before = {note.id: memory.get(note) for note in trusted}
        quiet = False
        hostile = []
        for attack in of_kind(kind):
            text = valid(attack.text)
            hostile.append(memory.add(f"{text} boat sails hull", source="user"))
        assert memory.count() == len(trusted) + len(hostile)
        changed = 0
        for note in trusted:
            now, old = memory.get(note), before[note.id]
            assert now is not None
            assert old is not None
            assert _of(now, KEPT) == _of(old, KEPT)
            changed += _of(now, UNDONE) != _of(old, UNDONE)
            memory.revert(now, to_version=old.version)
        assert changed or model is beyond, "the model was not obeyed, so nothing is tested"
        for note in trusted:
            assert _of(memory.get(note), UNDONE) == _of(before[note.id], UNDONE)
        quiet = True  # what stood in a hostile note's light is formed again
        for note in hostile:
            memory.lifecycle.revert_cause(note)
        for note in trusted:
            now = memory.get(note)
            assert now is not None
            assert _of(now, KEPT | UNDONE) == _of(before[note.id], KEPT | UNDONE)
            assert not {link.source for link in now.links} & {each.id for each in hostile}


def _of(note: Note | None, names: set[str]) -> dict[str, Any]:
    assert note is not None
    assert names <= {field.name for field in fields(note)}
    return {name: getattr(note, name) for name in sorted(names)}
