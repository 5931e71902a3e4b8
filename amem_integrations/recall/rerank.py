"""The last steps of a search: the hits that were scored are lowered, folded and reordered.

Outdated notes and notes of less trusted sources lose a part of their score, a note that repeats a
better one gives way, and a reranker, if there is one, has the last word.
"""

import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import fsum, isfinite
from typing import TypeAlias

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.note import OPPOSING, Note, Status
from amem_integrations.embedders.rerankers import Reranker, RerankerSpec, Scores, resolve_reranker
from amem_integrations.errors import InvalidInputError, loggable
from amem_integrations.llms.failures import is_interrupt
from amem_integrations.recall.links import hit_order
from amem_integrations.recall.signals import WORD, RecallOptions

Sources: TypeAlias = Callable[[Note], float]
"""How far the kind of source that a note came from is believed, in [0, 1]."""

# What an outdated note has at most of its successor's score: enough to be behind it.
_BEHIND = 0.99
# The share of a note's words of the question, or of its nearness to it, that another needs to have
# for being compared with it in trust.
_AS_WELL, _AS_NEAR = 0.6, 0.8
_LONGEST_QUESTION = 2000
_ONLY_ASKS = re.compile(r"[^.!。！…]*[?？؟][\s\"')”’」）]*")


def weigh_sources(
    hits: Sequence[Hit],
    sources: Sources,
    covered_by: Callable[[], Callable[[Note], float]],
    options: RecallOptions,
) -> list[Hit]:
    """Multiply each score by the trust in the note's source; return the hits best first.

    Trust is relative to the best source among the hits that may answer the question as well as
    the note, so that nothing changes if all are of one kind, or no other has to do with it. A
    note that only asks states nothing, and keeps `options.question` of its score. `why` has the
    losses, below 0: "source", "question".

    covered_by: returns what tells the share of the question's words that a note has; asked only
        if sources differ.
    """
    trusts = [sources(hit.note) for hit in hits]
    if max(trusts, default=0.0) <= 0:
        return list(hits)
    rivals = [(0.0, 0.0, 0.0)] * len(hits)
    if min(trusts) < max(trusts):
        covered = covered_by()
        rivals = [
            (trust, covered(hit.note), hit.why.get("meaning", 0.0))
            for hit, trust in zip(hits, trusts, strict=True)
        ]
    weighed = [
        _weigh(hit, _relative(trust, own, rivals), options)
        for hit, trust, own in zip(hits, trusts, rivals, strict=True)
    ]
    return sorted(weighed, key=hit_order)


def _relative(
    trust: float, own: tuple[float, float, float], rivals: Iterable[tuple[float, float, float]]
) -> float:
    """The trust in a note's source relative to the best of the notes that may answer as well.

    own, rivals: trust, share of the question's words, and nearness to it.
    """
    best = max(
        (
            other
            for other, words, near in rivals
            if words >= _AS_WELL * own[1] or near >= _AS_NEAR * own[2]
        ),
        default=trust,
    )
    return trust / max(trust, best) if trust else 0.0


def only_asks(text: str) -> bool:
    """Whether a text is a question, or several, and nothing else."""
    return len(text) <= _LONGEST_QUESTION and _ONLY_ASKS.fullmatch(text) is not None


def _weigh(hit: Hit, trust: float, options: RecallOptions) -> Hit:
    losses: dict[str, float] = {}
    left = hit.score * trust
    if trust < 1:
        losses["source"] = left - hit.score
    if only_asks(hit.note.content) and options.question < 1:
        losses["question"] = left * (options.question - 1)
    return _reduce(hit, losses)


def demote_doubtful(hits: Sequence[Hit], at: datetime, options: RecallOptions) -> list[Hit]:
    """Lower the scores of notes under audit or outdated at `at`; return the hits best first.

    However well it fits the question, such a note comes after the one that took its place or
    contests it. `why` has the losses, below 0: "audited" or "outdated", and with the latter
    "contested" while the contradiction is unresolved.
    """
    outdated = [(until, hit) for hit in hits if (until := hit.note.valid_until) and until <= at]
    audited = [hit for hit in hits if hit.note.status is Status.AUDITED]
    if not (outdated or audited):
        return list(hits)
    by_id = {hit.note.id: hit for hit in hits}
    successors = _successors(hits)
    # A successor may be outdated itself, but not before its predecessor.
    for _, hit in sorted(outdated, key=lambda pair: pair[0], reverse=True):
        better = (by_id[id].score for id in successors.get(hit.note.id, ()))
        left = min([hit.score * options.outdated, *(score * _BEHIND for score in better)])
        losses = {"outdated": left - hit.score}
        if hit.note.contested_by:
            losses["contested"] = left * (options.contested - 1)
        by_id[hit.note.id] = _reduce(hit, losses)
    for hit in (by_id[hit.note.id] for hit in audited):
        better = (by_id[id].score for id in hit.note.contested_by if id in by_id)
        left = min([hit.score * options.audited, *(score * _BEHIND for score in better)])
        by_id[hit.note.id] = _reduce(hit, {"audited": left - hit.score})
    return sorted(by_id.values(), key=hit_order)


def _successors(hits: Iterable[Hit]) -> dict[str, list[str]]:
    """By the id of a note, the ids of the hits that contradict it."""
    found: dict[str, list[str]] = {}
    for hit in hits:
        for link in hit.note.outgoing:
            if link.kind in OPPOSING:
                found.setdefault(link.to, []).append(hit.note.id)
    return found


def _reduce(hit: Hit, losses: dict[str, float]) -> Hit:
    """The hit with `losses` in its score and in `why`; the same hit if it has nothing to lose."""
    if hit.score <= 0 or not losses:
        return hit
    why = {**hit.why, **losses}
    return replace(hit, score=fsum(why.values()), why=why)


# -- duplicates and diversity -------------------------------------------------------------------

# Longer texts are the same only to the letter, as looking closer would cost too much.
_MAX_CHARS = 500
# Of texts that are held against each other, their beginning.
_MAX_COMPARED = 4000
# What may stand before and after a word without meaning anything. A question mark does: asking
# is not saying. What is left makes a difference, as in "C#" and "C++", "-5" and "5".
_BEFORE = "\"'([{“‘«「"
_AFTER = ".,;:!…\"')]}”’»」。！，；："
_HOLLOW = frozenset({"", "a", "an", "the", "oh", "so", "well", "just", "really", "very", "please"})

Same = tuple[str | None, str]


def same_as(note: Note) -> Same:
    """Return a value that is equal for notes of the same speaker and the same words.

    Case, blanks, punctuation, articles and filler words make no difference. Any other word does,
    as it can be a correction.
    """
    text = note.content
    if len(text) <= _MAX_CHARS:
        plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
        words = [
            word if word.isalnum() else word.lstrip(_BEFORE).rstrip(_AFTER)
            for word in plain.casefold().split()
        ]
        text = " ".join([word for word in words if word not in _HOLLOW]) or text
    return note.speaker, text


def fold_duplicates(hits: Iterable[Hit], k: int, known: dict[str, Same]) -> list[Hit]:
    """Return `hits` without near-duplicates of better ones, as far as `k` places can be filled.

    known: a cache of `same_as` by note id, as one search folds several times.
    """
    firsts: dict[Same, Hit] = {}
    repeats: list[Hit] = []
    for hit in hits:
        same = known.get(hit.note.id)
        if same is None:
            same = known[hit.note.id] = same_as(hit.note)
        if firsts.setdefault(same, hit) is not hit:
            repeats.append(hit)
    return [*firsts.values(), *repeats[: max(k - len(firsts), 0)]]


def diversify(hits: Sequence[Hit], k: int, diversity: float) -> list[Hit]:
    """Choose `k` of `hits`, each good and unlike those before it.

    Maximal marginal relevance (Carbonell and Goldstein, 1998): (1 - diversity) × score, taken
    to [0, 1] over `hits`, less diversity × the greatest share of words in common with one that
    was chosen.
    """
    if not diversity or len(hits) <= k:
        return list(hits[:k])
    scores = [hit.score for hit in hits]
    lowest, spread = min(scores), (max(scores) - min(scores)) or 1.0
    words = [frozenset(WORD.findall(hit.note.content[:_MAX_COMPARED].casefold())) for hit in hits]
    similarity = [0.0] * len(hits)
    left = set(range(len(hits)))
    chosen: list[Hit] = []
    while left and len(chosen) < k:
        best = max(
            sorted(left),
            key=lambda at: (
                (1 - diversity) * (scores[at] - lowest) / spread - diversity * similarity[at]
            ),
        )
        left.remove(best)
        chosen.append(hits[best])
        for at in left:
            union = len(words[best] | words[at])
            common = len(words[best] & words[at]) / union if union else 0.0
            similarity[at] = max(similarity[at], common)
    return chosen


# -- reranking ----------------------------------------------------------------------------------

_LOG = logging.getLogger(__name__)
FAILED = "recall.rerank.failed"


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker; `count` is called with the name of what went wrong."""

    reranker: Reranker
    count: Callable[[str], None]


def reranking_by(spec: RerankerSpec, count: Callable[[str], None]) -> Reranking | None:
    """Resolve a reranker; raises what `resolve_reranker` raises."""
    reranker = resolve_reranker(spec)
    return None if reranker is None else Reranking(reranker, count)


async def rerank(io: IO, query: str, hits: Sequence[Hit], by: Reranking) -> list[Hit]:
    """Return the hits in the reranker's order and with its scores, without those it leaves out.

    A reranker that fails changes nothing; the failure is logged without content, and counted.
    """
    if not hits:
        return []
    try:
        said = [
            f"{hit.note.speaker}: {hit.note.content}" if hit.note.speaker else hit.note.content
            for hit in hits
        ]
        scores: Scores = await io.invoke(by.reranker, (query, said))
        if len(scores) != len(hits):
            raise ValueError(f"{len(scores)} scores for {len(hits)} texts")
        if not all(score is None or isfinite(score) for score in scores):
            raise ValueError("a score that is no finite number")
    except InvalidInputError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise
        _LOG.warning(
            "The reranker %s failed (%s); the notes are in the order they had.",
            by.reranker.name,
            loggable(error),
        )
        _LOG.debug("Why.", exc_info=error)
        by.count(FAILED)
        return list(hits)
    scored = [
        replace(hit, score=float(score), why={**hit.why, "rerank": float(score)})
        for hit, score in zip(hits, scores, strict=True)
        if score is not None
    ]
    return sorted(scored, key=lambda hit: -hit.score)
