"""What a model's notes are worth to recall: conversations formed from recorded notes, and raw.

    python -m tests.benchmarks.replayed_notes --cache vectors.sqlite \
        --locomo locomo.json notes.json.gz --chat turns.jsonl questions.jsonl notes.jsonl

No model is asked: an analyst replays what one answered. Without a corpus it is the story of
`tests/stories`; the others do not come with the project.

- `--locomo`: a file of LoCoMo, and by conversation and turn the `keywords`, `tags`, `context`,
  `fact`, `questions`, `links` and `evolutions` of each note.
- `--chat`: lines of turns (`id`, `session`, `time`, `speaker`, `text`), of questions (`q`,
  `evidence`, `cat`) and of notes (`id` and the fields as above).

Recall at 5, 10 and 20 of all questions that have an answer, at 10 of those of several turns, and
at 5 of those about facts that changed. Vectors are kept in a file, so that a second run takes two
minutes.
"""

import argparse
import gzip
import json
import sqlite3
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from amem_integrations import AgenticMemory
from amem_integrations.analysts.llm import LLMAnalyst
from amem_integrations.core.analysis import (
    Evolution,
    Judgement,
    LinkProposal,
    Subject,
    Understanding,
)
from amem_integrations.core.engine import Vector
from amem_integrations.core.io import IO, Embedder
from amem_integrations.core.note import note_id
from amem_integrations.embedders.dense import resolve_embedder
from amem_integrations.evaluation.dataset import Conversation, Dataset, Question, Turn
from amem_integrations.evaluation.formats import read_dataset
from amem_integrations.evaluation.metrics import Ranks, recall
from amem_integrations.evaluation.recall import QuestionEmbedder, Setup, ask, fill, timed
from tests.stories.story import STORY, Idea

Recorded = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What was answered, by conversation and turn."""

K = 20
RAW = "raw"
FORMS: Mapping[str, tuple[str, ...]] = {
    RAW: (),
    "keywords, tags, context": ("context",),
    "+ questions": ("context", "questions"),
    "fact for context, questions": ("fact", "questions"),
    "both in context, questions": ("fact", "context", "questions"),
}
"""By name: what is taken of the recorded notes beside keywords and tags."""


# -- the recorded notes ----------------------------------------------------------------------


class ReplayingAnalyst(LLMAnalyst):
    """Judges as recorded, where links and evolutions are of notes that it is shown.

    fields: "context", "fact" or both as the note's context, and "questions". A turn without a
    fact has its context.
    """

    def __init__(self, recorded: Recorded, fields: Sequence[str]) -> None:
        super().__init__(name="replayed-" + "-".join(fields))
        self._recorded = recorded
        self._fields = fields

    async def fuse(self, io: IO, subject: Subject) -> Judgement:
        note = subject.note
        said = self._recorded[note.namespace[-1]][note.key]

        def id_of(key: str) -> str:
            return note_id(note.namespace, key)

        links = tuple(
            LinkProposal(id_of(link["to"]), link["reason"], link["kind"], link["strength"])
            for link in said.get("links", ())
        )
        evolutions = tuple(
            Evolution(
                id_of(each["note"]),
                tuple(each["keywords"]) or None,
                tuple(each["tags"]) or None,
                self._evolved_context(note.namespace[-1], each),
                each["reason"],
            )
            for each in said.get("evolutions", ())
        )
        return Judgement(self._understanding(said), links, evolutions)

    async def batch(self, io: IO, subjects: Sequence[Subject]) -> list[Any]:
        return [await self.fuse(io, subject) for subject in subjects]

    def _understanding(self, said: Mapping[str, Any]) -> Understanding:
        sentences = [said[name] for name in ("fact", "context") if name in self._fields]
        questions = said["questions"] if "questions" in self._fields else ()
        return Understanding(
            tuple(said["keywords"]),
            tuple(said["tags"]),
            " ".join(sentences).strip() or said["context"],
            tuple(questions),
        )

    def _evolved_context(self, home: str, evolution: Mapping[str, Any]) -> str | None:
        context = evolution["context"]
        if context and "fact" in self._fields:
            # The fact stands in for a context that was written without one.
            return f"{self._recorded[home][evolution['note']]['fact']} {context}".strip()
        return context or None


# -- the corpora -----------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def locomo(dataset: Path, notes: Path) -> tuple[Dataset, Recorded]:
    recorded: Recorded = json.loads(gzip.decompress(notes.read_bytes()))
    read = read_dataset(dataset)
    return replace(
        read, conversations=tuple(each for each in read.conversations if each.id in recorded)
    ), recorded


def chat(turns: Path, questions: Path, notes: Path) -> tuple[Dataset, Recorded]:
    name = turns.parent.name
    talk = Conversation(
        name,
        tuple(
            Turn(
                turn["id"],
                turn["text"],
                turn["speaker"],
                session=turn["session"],
                time=datetime.fromisoformat(turn["time"]),
            )
            for turn in lines(turns)
        ),
        tuple(
            Question(each["q"], tuple(each["evidence"]), each["cat"]) for each in lines(questions)
        ),
    )
    return Dataset("chat", (talk,)), {name: {note["id"]: note for note in lines(notes)}}


def story() -> tuple[Dataset, Recorded]:
    """The chat of `tests/stories`, one note a turn."""
    said = [(idea, turn.id) for turn in STORY.turns for idea in turn.ideas]
    place = {idea.key: id for idea, id in said if idea.key and idea.decision != "repeats"}
    talk = Conversation(
        "story",
        tuple(
            Turn(turn.id, turn.text, turn.speaker, session=turn.session, time=turn.time)
            for turn in STORY.turns
        ),
        tuple(
            Question(
                asked.text,
                tuple(sorted({place[fact] for fact in asked.first})),
                "update" if asked.first & {*STORY.outdated.values()} else "fact",
            )
            for asked in STORY.questions
        ),
    )
    notes = {turn.id: _whole_note(turn.ideas, place) for turn in STORY.turns}
    return Dataset("story", (talk,)), {"story": notes}


def _whole_note(ideas: Sequence[Idea], place: Mapping[str, str]) -> dict[str, Any]:
    """The recorded note of a turn: those of its ideas together."""
    links = [
        {"to": place[idea.of], "reason": idea.decision, "kind": idea.link, "strength": 0.9}
        for idea in ideas
        if idea.link
    ]
    lists = {
        name: [term for idea in ideas for term in idea.note[name]]
        for name in ("keywords", "tags", "questions")
    }
    context = " ".join(idea.note["context"] for idea in ideas)
    return {**lists, "context": context, "fact": context, "links": links}


class KeptVectors:
    """An embedder whose vectors are kept in a file."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._file = sqlite3.connect(path, check_same_thread=False)
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (text PRIMARY KEY, vector)")

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        known = {text: self._read(text) for text in dict.fromkeys(texts)}
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            found = dict(zip(missing, self._inner.embed_documents(missing), strict=True))
            known |= found
            rows = [(text, array("f", vector).tobytes()) for text, vector in found.items()]
            self._file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            self._file.commit()
        return [known[text] or [] for text in texts]

    def embed_query(self, text: str) -> Vector:
        return self.embed_documents([text])[0]

    def _read(self, text: str) -> Vector | None:
        row = self._file.execute("SELECT vector FROM vectors WHERE text = ?", (text,)).fetchone()
        return None if row is None else array("f", row[0]).tolist()


# -- measuring -------------------------------------------------------------------------------


def mean(ranks: Iterable[Ranks], k: int) -> float:
    values = [recall(each, k) for each in ranks]
    return 100 * fmean(values) if values else float("nan")


def row(asked: Sequence[tuple[Question, Ranks]]) -> str:
    core = [(question, ranks) for question, ranks in asked if question.core]
    every = [ranks for _, ranks in core]
    multi = [ranks for question, ranks in core if question.category in ("multi-hop", "multi")]
    changed = [ranks for question, ranks in core if question.category == "update"]
    figures = [mean(every, 5), mean(every, 10), mean(every, 20), mean(multi, 10), mean(changed, 5)]
    return " ".join(" " * 6 if value != value else f"{value:6.1f}" for value in figures)


def replayed_ranks(
    dataset: Dataset,
    recorded: Recorded,
    form: str,
    embedder: Any,
    questions: QuestionEmbedder,
) -> list[Ranks]:
    """At which ranks the evidence of each question is found, with notes of that form."""
    settings: dict[str, Any] = {"formation": "off"}
    if form != RAW:
        analyst = ReplayingAnalyst(recorded, FORMS[form])
        settings = {"analyst": analyst, "mode": "batched"}
    with AgenticMemory(embedder=embedder, **settings) as memory:
        return list(ask(fill(memory, dataset), Setup(), questions, k=K).ranks)


def measure(
    dataset: Dataset,
    recorded: Recorded,
    forms: Sequence[str],
    embedder: Any,
    questions: QuestionEmbedder,
) -> None:
    print(f"\n{dataset.format}: {len(dataset.asked)} questions")
    print(f"{'':42} {'R@5':>6} {'R@10':>6} {'R@20':>6} {'multi':>6} {'change':>6}")
    for form in forms:
        ranks = replayed_ranks(dataset, recorded, form, embedder, questions)
        asked = [(c.id, q, r) for (c, q), r in zip(dataset.asked, ranks, strict=True)]
        print(f"{form:42} {row([(q, r) for _, q, r in asked])}", flush=True)
        if len(dataset.conversations) > 1:
            for talk in dataset.conversations:
                own = [(q, r) for id, q, r in asked if id == talk.id]
                print(f"  {talk.id:40} {row(own)}")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--locomo", nargs=2, type=Path, metavar=("TALKS", "NOTES"))
    parser.add_argument("--chat", nargs=3, type=Path, metavar=("TURNS", "QUESTIONS", "NOTES"))
    parser.add_argument("--cache", type=Path, default=Path("vectors.sqlite"))
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=[*FORMS])
    given = parser.parse_args(arguments)
    corpora = [locomo(*given.locomo)] if given.locomo else []
    corpora += [chat(*given.chat)] if given.chat else []
    corpora = corpora or [story()]
    named = resolve_embedder(None)
    embedder, questions = timed(KeptVectors(named, given.cache))
    for dataset, recorded in corpora:
        measure(dataset, recorded, given.forms, embedder, questions)


if __name__ == "__main__":
    main(sys.argv[1:])
