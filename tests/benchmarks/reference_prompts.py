"""The two questions that the reference A-Mem asks for each note, in words of our own.

They ask for the same fields, with the same neighbours and the same answers; only the wording
is ours, and shorter where we knew how. `tests.benchmarks.formation` counts them.
"""

import json
from collections.abc import Sequence
from typing import Any

from amem_integrations.core.note import Note

NEIGHBOURS = 5

_CONSTRUCT = """\
Analyse the content below and describe it in a structured way:
1. Name its most important keywords: nouns, verbs and central concepts.
2. Work out its main themes and the context in which it stands.
3. Give it tags of a broad kind, by which it can be classified.

Answer as a JSON object of this form:
{
    "keywords": [
        // several specific, distinct keywords for the key concepts and terms
        // from the most to the least important
        // no keyword that is the name of the speaker or the time
        // at least three, but not so many that they repeat each other
    ],
    "context":
        // one sentence that sums up: the main topic or domain, the key points or arguments,
        // the intended audience or purpose
    ,
    "tags": [
        // several broad categories or themes for classification
        // with the domain, the format and the type of the content
        // at least three, but not so many that they repeat each other
    ]
}

Content to analyse:
"""

_EVOLVE = """\
You are an agent that manages and evolves a memory, a base of knowledge.
Look at the new note by its keywords and context, and at its nearest neighbours among the
older notes, and decide how the memory is to evolve.

The context of the new note: {context}
Its content: {content}
Its keywords: {keywords}

Its nearest neighbours:
{neighbours}

From this, decide:
1. Is the memory to evolve? Consider how the new note relates to the others.
2. In which ways (strengthen, update_neighbor)?
   2.1 To strengthen connections: which notes is it to be connected with, and what are the
       updated tags of the new note?
   2.2 To update neighbours: the context and the tags of these notes can be updated, as the new
       note lets them be understood. What does not change stays as it was. Give the new
       contexts and the new tags in the order in which the neighbours are listed.
Tags are to follow from the content of a note, so that it can be found by them and sorted.
The lists of new contexts and new tags must have one entry for each of the {number} neighbours.

Answer as a JSON object of this form:
{{
    "should_evolve": true or false,
    "actions": ["strengthen", "update_neighbor"],
    "suggested_connections": ["the indices of neighbours"],
    "tags_to_update": ["tag_1", ..., "tag_n"],
    "new_context_neighborhood": ["new context", ..., "new context"],
    "new_tags_neighborhood": [["tag_1", ..., "tag_n"], ..., ["tag_1", ..., "tag_n"]]
}}
"""


def compact(value: Any) -> str:
    """JSON as models under a schema write it, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def construct(note: Note) -> tuple[str, str]:
    """The first question and the answer to it."""
    answer = {"keywords": note.keywords, "context": note.context, "tags": note.tags}
    return _CONSTRUCT + note.content, compact(answer)


def evolve(
    note: Note, neighbours: Sequence[Note], changed: dict[str, dict[str, Any]]
) -> tuple[str, str]:
    """The second question, and the answer that makes the same links and changes as ours.

    changed: what becomes of neighbours, by id.
    """
    lines = [
        f"memory index:{place}\t talk start time:{each.created_at:%Y%m%d%H%M}\t "
        f"memory content: {each.content}\t memory context: {each.context}\t "
        f"memory keywords: {list(each.keywords)}\t memory tags: {list(each.tags)}"
        for place, each in enumerate(neighbours)
    ]
    question = _EVOLVE.format(
        context=note.context,
        content=note.content,
        keywords=list(note.keywords),
        neighbours="\n".join(lines),
        number=len(neighbours),
    )
    linked = {link.to for link in note.outgoing}
    connections = [str(place) for place, each in enumerate(neighbours) if each.id in linked]
    after = [changed.get(each.id, {}) for each in neighbours]
    contexts = [
        new.get("context") or each.context for new, each in zip(after, neighbours, strict=True)
    ]
    tags = [list(new.get("tags") or each.tags) for new, each in zip(after, neighbours, strict=True)]
    evolves = any(after)
    answer = {
        "should_evolve": bool(connections or evolves),
        "actions": ["strengthen"] * bool(connections) + ["update_neighbor"] * evolves,
        "suggested_connections": connections,
        "tags_to_update": list(note.tags) if connections else [],
        "new_context_neighborhood": contexts if evolves else [],
        "new_tags_neighborhood": tags if evolves else [],
    }
    return question, compact(answer)
