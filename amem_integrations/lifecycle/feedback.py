"""Feedback: what came of notes that were in a prompt, from the caller or from the reply itself.

A report is stored by itself; nothing of the notes changes until `maintain` counts it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from amem_integrations.analysts import stop_words
from amem_integrations.analysts.words import keys
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Hit, check_text
from amem_integrations.errors import InvalidInputError
from amem_integrations.stores.read import existing
from amem_integrations.stores.uses import OUTCOMES, Outcome, Use, new_id, save_use

MOST_NOTES = 100
SHARED = 2
"""How many rare stems a reply shares with a note that it used."""
_MAX_CHARS = 20_000
_MAX_EMBEDDED = 4000
_HOLLOW = frozenset(word for words in stop_words.STOP.values() for word in words)


@dataclass(frozen=True, slots=True)
class Report:
    """What is reported of notes of one namespace; fields as those of `store.uses.Use`."""

    notes: tuple[str, ...]
    outcome: Outcome = "used"
    ways: tuple[tuple[str, str], ...] = ()
    session: str | None = None
    query: str | None = None


async def feedback(io: IO, namespace: Namespace, report: Report) -> int:
    """Keep a report; returns how many of its notes are there. Nothing is kept for none.

    Raises InvalidInputError for an outcome that there is not, more than MOST_NOTES notes, and
    a session or query that is no text.
    """
    if report.outcome not in OUTCOMES:
        wanted = " or ".join(map(repr, OUTCOMES))
        raise InvalidInputError(f"outcome is {wanted}; got {report.outcome!r}.")
    if len(report.notes) > MOST_NOTES:
        raise InvalidInputError(
            f"A report is about the notes of one prompt, at most {MOST_NOTES}; got "
            f"{len(report.notes)}."
        )
    if report.session is not None:
        check_text("session", report.session)
    if report.query is not None:
        _check_kind("query", report.query)
    ends = {end for way in report.ways for end in way}
    present = await existing(io, sorted({*report.notes, *ends}), namespace)
    notes = tuple(id for id in dict.fromkeys(report.notes) if id in present)
    if not notes:
        return 0
    asked = (report.query or "").strip()[:_MAX_EMBEDDED]
    use = Use(
        id=new_id(),
        at=io.now(),
        notes=notes,
        outcome=report.outcome,
        ways=tuple(way for way in report.ways if present.issuperset(way)),
        session=report.session,
        query=await io.embed_query(asked) if asked else None,
    )
    await save_use(io, namespace, use)
    return len(notes)


async def feedback_from_reply(
    io: IO,
    namespace: Namespace,
    hits: Sequence[Hit],
    reply: str,
    query: str | None = None,
    session: str | None = None,
) -> list[Hit]:
    """Report those of a prompt's hits that the reply made use of; returns them.

    Raises InvalidInputError for a reply or query that is no text.
    """
    _check_kind("reply", reply)
    if query is not None:
        _check_kind("query", query)
    used = used_in(reply, hits, query)
    if used:
        notes = tuple(hit.note.id for hit in used)
        await feedback(io, namespace, Report(notes, "used", ways_of(used), session, query))
    return used


def ways_of(hits: Iterable[Hit]) -> tuple[tuple[str, str], ...]:
    """The links by which hits were found."""
    return tuple((hit.via.source, hit.via.to) for hit in hits if hit.via is not None)


def used_in(reply: str, hits: Sequence[Hit], query: str | None = None) -> list[Hit]:
    """Those of the hits of one prompt that the reply made use of.

    It did if it has SHARED or more of the note's rare stems: words of some matter that at most
    a third of the hits have, and that the question did not bring up.
    """
    said = _stems(reply)
    asked = _stems(query or "")
    stems = [_stems(hit.note.content) - asked for hit in hits]
    used: list[Hit] = []
    for hit, own in zip(hits, stems, strict=True):
        shared = {stem for stem in own & said if _is_rare(stem, stems)}
        if len(shared) >= SHARED:
            used.append(hit)
    return used


def _check_kind(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be text; got {type(text).__name__}.")


def _stems(text: str) -> frozenset[str]:
    return keys(text[:_MAX_CHARS]) - _HOLLOW


def _is_rare(stem: str, texts: Sequence[Collection[str]]) -> bool:
    return sum(stem in text for text in texts) <= max(1, len(texts) // 3)
