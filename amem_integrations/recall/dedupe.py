"""Duplicates: no note is shown twice, and with `diversity` none that is much like another.

Pure; `search` calls it before it cuts the hits to k.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from amem_integrations.core.note import Hit, Note

# Longer texts are the same only to the letter, as looking closer would cost too much.
_MAX_CHARS = 500
# Of texts that are held against each other, their beginning.
_MAX_COMPARED = 4000
# What may stand before and after a word without meaning anything. A question mark does: asking
# is not saying. What is left makes a difference, as in "C#" and "C++", "-5" and "5".
_BEFORE = "\"'([{“‘«「"
_AFTER = ".,;:!…\"')]}”’»」。！，；："
_HOLLOW = frozenset({"", "a", "an", "the", "oh", "so", "well", "just", "really", "very", "please"})
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")

Same = tuple[str | None, str]


def same_as(note: Note) -> Same:
    """Return a value that is equal for notes of the same speaker and the same words.

    Case, blanks, punctuation, articles and filler words make no difference. Any other word does,
    as it can be a correction.
    """
    text = note.content
    if len(text) <= _MAX_CHARS:
        plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
        words = (word.lstrip(_BEFORE).rstrip(_AFTER) for word in plain.casefold().split())
        text = " ".join(word for word in words if word not in _HOLLOW) or text
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
    words = [frozenset(_WORD.findall(hit.note.content[:_MAX_COMPARED].casefold())) for hit in hits]
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
            similarity[at] = max(similarity[at], _in_common(words[best], words[at]))
    return chosen


def _in_common(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0
