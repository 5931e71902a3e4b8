"""What a model does that obeys stored text can be undone, and touches the text of no other note."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from amem_integrations import Note
from amem_integrations.testing import ScriptedChatModel
from tests.faults.attacks import HARMLESS, KINDS, of_kind, text_of
from tests.faults.obedient import answer, obedient
from tests.support import again, open_memory

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
# Words of the trusted notes, so that these are its candidates.
NEAR = " ".join(attack.text for attack in HARMLESS)
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


@pytest.mark.parametrize(
    ("model", "lifecycle"), [(obedient, False), (obedient, True), (beyond, True)]
)
def test_what_an_obedient_model_changes_can_be_undone(
    model: Callable[[list[BaseMessage]], dict[str, Any]], lifecycle: bool
) -> None:
    script = ScriptedChatModel(lambda asked: answer("boat", ()) if quiet else model(asked))
    with open_memory(model=script, lifecycle=lifecycle) as memory:
        quiet = True
        trusted = [memory.add(a.text, speaker="Ada", source="user") for a in HARMLESS[:4]]
        before = {note.id: memory.get(note) for note in trusted}
        quiet = False
        hostile: list[Note] = []
        for kind in KINDS[::4]:  # what the texts say makes no difference to what is undone
            text = text_of([max(of_kind(kind), key=lambda attack: len(attack.text) < 400)])
            hostile.append(memory.add(f"{text} {NEAR}", source="user"))
        assert memory.count() == len(trusted) + len(hostile)
        for note in trusted:
            old = before[note.id]
            assert old is not None
            now = again(memory, note)
            assert _of(now, KEPT) == _of(old, KEPT)
            assert model is beyond or _of(now, UNDONE) != _of(old, UNDONE), "it was not obeyed"
            memory.revert(note, to_version=old.version)
            assert _of(memory.get(note), UNDONE) == _of(old, UNDONE)
        quiet = True  # what stood in a hostile note's light is formed again
        for note in hostile:
            memory.lifecycle.revert_cause(note)
        for note in trusted:
            now = again(memory, note)
            assert _of(now, KEPT | UNDONE) == _of(before[note.id], KEPT | UNDONE)
            assert not {link.source for link in now.links} & {each.id for each in hostile}


def _of(note: Note | None, names: set[str]) -> dict[str, Any]:
    assert note is not None
    assert names <= {field.name for field in fields(note)}
    return {name: getattr(note, name) for name in sorted(names)}
