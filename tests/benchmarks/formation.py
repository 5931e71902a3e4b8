"""What it costs to form a note, by mode, in calls and tokens; without a model, in time.

    python -m tests.benchmarks.formation                  # calls and tokens
    python -m tests.benchmarks.formation --speed 1000     # without a model, beside embedding

Calls and tokens are counted on the demo conversation; no model is loaded. A scripted model
answers every mode, and the two questions of the reference, with the same understanding, links and
evolutions: those that the LLM-free analyst found. Tokens are o200k_base's where
tiktoken needs no network, else an estimate. A schema is counted whole, compact, once a call, as if
it were part of the prompt; providers that take one beside the prompt bill about that.

For the speed, varied sentences are embedded by the default embedder, and the same ones added and
formed by statistics, by turns in one process. CPU time counts, as others use the machine too.
"""

import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, FormationOptions, Note
from amem_integrations.cli.demo import messages as turns
from amem_integrations.core.status import UNDERSTOOD_LISTS
from amem_integrations.core.values import estimate_tokens
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.formation.state import initial_state
from amem_integrations.testing import HashEmbedder, ScriptedChatModel
from tests.benchmarks import reference_prompts
from tests.benchmarks.reference_prompts import compact
from tests.support import shown_batch, shown_notes

MODES = ("staged", "fused", "batched")
BATCH = 8
LATENCY = 0.2

Count = Callable[[str], int]


# -- what is answered -----------------------------------------------------------------------


class Script:
    """The LLM-free analyst's judgements of the demo conversation, as a chat model's answers."""

    def __init__(self) -> None:
        with AgenticMemory(embedder=HashEmbedder()) as memory:
            self.notes = [_filled(memory.add(turn.pop("content"), **turn)) for turn in turns()]
            self.links = {note.content: memory.links(note) for note in self.notes}
            histories = {note.id: memory.history(note) for note in self.notes}
        self.by_id = {note.id: note for note in self.notes}
        self.changes: dict[str, dict[str, dict[str, Any]]] = {}
        for id, revisions in histories.items():
            for revision in (each for each in revisions if each.kind == "evolved"):
                change = {
                    name: [term for term in change.after if term not in change.before]
                    if name in UNDERSTOOD_LISTS
                    else change.after
                    for name, change in revision.changes.items()
                }
                change["reason"] = revision.reason
                self.changes.setdefault(revision.cause, {})[id] = change
        self.formed = {note.content: note for note in self.notes}

    def judgement(self, text: str, shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What there is to say of the note with this text, with its links to what is shown."""
        note = self.formed[text]
        handles = {self.formed[each["text"]].id: each["n"] for each in shown}
        changes = self.changes.get(note.id, {})
        return {
            "keywords": list(note.keywords),
            "tags": list(note.tags),
            "context": note.context,
            "questions": list(note.questions),
            "links": [
                {
                    "to": handles[link.to],
                    "reason": link.reason,
                    "kind": "sequence" if link.kind == "sequence" else "same-matter",
                    "strength": link.weight,
                }
                for link in note.outgoing
                if link.to in handles
            ],
            "evolutions": [
                {
                    "note": handles[id],
                    "reason": change["reason"],
                    "keywords": change.get("keywords", []),
                    "tags": change.get("tags", []),
                    "context": change.get("context", ""),
                }
                for id, change in changes.items()
                if id in handles
            ],
        }

    def reply(self, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        """The answer to any of the questions, with what it asks for and nothing else."""
        if batch := shown_batch(messages):
            return {"notes": [{"n": n, **self.judgement(*asked)} for n, asked in batch.items()]}
        rules = messages[0].text
        said = self.judgement(*shown_notes(messages))
        return {name: value for name, value in said.items() if f'\n"{name}":' in rules}


def _filled(note: Note) -> Note:
    """The note with every field: statistics find nothing in "ok", of which a model has a word.

    Statistics ask nothing either. A question of a dozen words stands for what a model asks of a
    turn, which on average is that long in all, since many a turn answers none.
    """
    asked = f"What did {note.speaker} say about {', '.join(note.keywords[:2])}?"
    return note.evolve(
        questions=(asked,) if note.keywords else (),
        keywords=note.keywords or (note.content,),
        tags=note.tags or ("talk",),
        context=note.context or note.content,
    )


# -- cost -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Per note: calls, tokens, and what came of them."""

    mode: str
    calls: float
    prompt: float
    schema: float
    completion: float
    links: float = 0.0
    evolutions: float = 0.0
    filled: float = 0.0

    @property
    def tokens(self) -> float:
        return self.prompt + self.schema + self.completion


def tokenizer() -> tuple[str, Count]:
    """A name and a counter: o200k_base if its file is on this machine, else the estimate."""
    home = find_spec("llama_index.core")
    if home is not None and home.origin is not None:
        kept = Path(home.origin).parent / "_static" / "tiktoken_cache"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(kept))
    try:
        import tiktoken

        encoding = tiktoken.get_encoding("o200k_base")
    except Exception as error:
        return f"estimated ({type(error).__name__} for o200k_base)", estimate_tokens
    return "o200k_base", lambda text: len(encoding.encode(text, disallowed_special=()))


def cost(mode: Any, script: Script, count: Count) -> Cost:
    """The conversation formed in one mode, in groups of BATCH where the mode takes groups."""
    model = ScriptedChatModel(lambda messages: script.reply(messages))
    size = BATCH if mode == "batched" else 1
    with AgenticMemory(
        embedder=HashEmbedder(),
        model=model,
        mode=mode,
        formation="off",
        formation_options=FormationOptions(batch=BATCH),
    ) as memory:
        graph = memory.graph()
        items = turns()
        for start in range(0, len(items), size):
            notes = memory.add_many(items[start : start + size])
            graph.invoke(initial_state(notes))
        formed = memory.recent(limit=len(items))
        evolutions = sum(each.kind == "evolved" for note in formed for each in memory.history(note))
    prompt = schema = completion = 0
    for call in model.calls:
        prompt += sum(count(message.text) for message in call.messages)
        asked = call.kwargs["response_format"]["schema"]
        schema += count(compact(asked))
        completion += count(compact(script.reply(call.messages)))
    return Cost(
        mode,
        *(n / len(items) for n in (len(model.calls), prompt, schema, completion)),
        links=sum(len(note.outgoing) for note in formed) / len(items),
        evolutions=evolutions / len(items),
        filled=sum(bool(n.keywords and n.tags and n.context) for n in formed) / len(items),
    )


def reference_cost(script: Script, count: Count) -> Cost:
    """The reference's two questions on the same notes, answered to the same effect."""
    vectors = HashEmbedder().embed_documents([note.content for note in script.notes])
    asked = said = calls = 0
    for place, note in enumerate(script.notes):
        pairs = [reference_prompts.construct(note)]
        nearest = sorted(range(place), key=lambda other: -_dot(vectors[place], vectors[other]))
        near = [script.notes[other] for other in nearest[: reference_prompts.NEIGHBOURS]]
        if near:
            pairs.append(reference_prompts.evolve(note, near, script.changes.get(note.id, {})))
        for question, answer in pairs:
            calls, asked, said = calls + 1, asked + count(question), said + count(answer)
    size = len(script.notes)
    return Cost("reference", calls / size, asked / size, 0.0, said / size)


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def cost_table() -> None:
    name, count = tokenizer()
    script = Script()
    rows = [*(cost(mode, script, count) for mode in MODES), reference_cost(script, count)]
    print(
        f"\nForming the demo conversation ({len(script.notes)} notes), tokens by {name}, per note"
    )
    print(
        f"{'mode':>10} {'calls':>6} {'prompt':>7} {'schema':>7} {'answer':>7} {'tokens':>7} "
        f"{'links':>6} {'evolved':>8} {'filled':>7}"
    )
    for row in rows:
        made = f"{row.links:>6.2f} {row.evolutions:>8.2f} {row.filled:>7.0%}"
        print(
            f"{row.mode:>10} {row.calls:>6.2f} {row.prompt:>7.0f} {row.schema:>7.0f} "
            f"{row.completion:>7.0f} {row.tokens:>7.0f} {made if row.filled else ''}"
        )
    print(
        "The reference's questions are worded by us after what they ask for, so its row is a\n"
        "lower estimate; its schemas, which it sends as well, are not counted. Its paper reports\n"
        "about 1,200 tokens for an operation."
    )


# -- speed ----------------------------------------------------------------------------------

ROUND = 60
PEOPLE = ("Ada", "Bea", "Calvin", "Dana", "Emil", "Farah")
THINGS = (
    """
the redis cache|the product page|the garden gate|my violin lesson|the kayak trip|a red bicycle
the board meeting|the tax return|our cat|the sourdough|the kettle|the train to Leipzig
the invoice 2024-117|the adoption agency|a charity run|the ladder|the guest room|the old piano
""".strip()
    .replace("\n", "|")
    .split("|")
)
DEEDS = (
    """
is slower than last week, and nobody knows why|was moved to June 20 because of the holidays
reminds me of what we did in Portugal two summers ago|costs about 340 euros, which is too much
needs a new lid before the guests come on Saturday|makes me happy each time, I have to say
was Bea's idea, and it worked out better than I thought|is what we talked about at length
has to be finished before the release, or we are late|broke again while I was on the phone
""".strip()
    .replace("\n", "|")
    .split("|")
)
OPENINGS = ("Honestly,", "By the way,", "Did you hear that", "I think that", "So,", "You know,")


def talk(size: int) -> list[dict[str, Any]]:
    """Turns of about 25 words in sessions of 20."""
    chance = random.Random(7)

    def sentence() -> str:
        return f"{chance.choice(OPENINGS)} {chance.choice(THINGS)} {chance.choice(DEEDS)}."

    return [
        {
            "content": f"{sentence()} {sentence()}",
            "speaker": chance.choice(PEOPLE),
            "session": f"s{n // 20}",
        }
        for n in range(size)
    ]


def speed_table(size: int) -> None:
    turns = talk(size)
    embed = resolve_embedder(None).embed_documents
    embed([turn["content"] for turn in turns[:8]])
    alone = inline = 0.0
    with AgenticMemory(formation="inline") as memory:
        memory.add_many(turns[:8], namespace="warm")
        for start in range(0, size, ROUND):
            some = turns[start : start + ROUND]
            before = time.process_time()
            embed([turn["content"] for turn in some])
            between = time.process_time()
            memory.add_many(some)
            alone += between - before
            inline += time.process_time() - between
    print(f"\n{size} notes, CPU ms a note: embedding alone {alone / size * 1e3:.1f}, ", end="")
    print(f"added and formed {inline / size * 1e3:.1f}; ratio of the rates {alone / inline:.2f}")


if __name__ == "__main__":
    if "--speed" in sys.argv:
        speed_table(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 1000)
    else:
        cost_table()
