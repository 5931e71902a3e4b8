"""Which of the notes found are shown: none twice, and with `diversity` none much like another.

Pure. `search` calls it with the best notes, read, before it cuts them to k.
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
    """What near-identical notes have in common, and others do not.

    They are by the same speaker and differ in case, blanks, punctuation or an article at most.
    A single other word can be a correction, so it makes another note.
    """
    text = note.content
    if len(text) <= _MAX_CHARS:
        plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
        words = (word.lstrip(_BEFORE).rstrip(_AFTER) for word in plain.casefold().split())
        text = " ".join(word for word in words if word not in _HOLLOW) or text
    return note.speaker, text


def distinct(hits: Iterable[Hit], k: int, known: dict[str, Same]) -> list[Hit]:
    """`hits` without those that near-identical better ones stand for.

    Of these only as many stay as would else leave one of `k` places empty.
    known: `same_as` by note id, as one search asks several times; it is filled.
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


def diverse(hits: Sequence[Hit], k: int, diversity: float) -> list[Hit]:
    """`k` of `hits`, one after the other, each good and unlike those before it.

    Maximal marginal relevance (Carbonell and Goldstein, 1998): (1 - diversity) × score, taken
    to [0, 1] over `hits`, less diversity × the greatest share of words in common with one that
    was chosen.
    """
    if not diversity or len(hits) <= k:
        return list(hits[:k])
    scores = [hit.score for hit in hits]
    lowest, spread = min(scores), (max(scores) - min(scores)) or 1.0
    words = [frozenset(_WORD.findall(hit.note.content[:_MAX_COMPARED].casefold())) for hit in hits]
    likeness = [0.0] * len(hits)
    left = set(range(len(hits)))
    chosen: list[Hit] = []
    while left and len(chosen) < k:
        best = max(
            sorted(left),
            key=lambda at: (
                (1 - diversity) * (scores[at] - lowest) / spread - diversity * likeness[at]
            ),
        )
        left.remove(best)
        chosen.append(hits[best])
        for at in left:
            likeness[at] = max(likeness[at], _in_common(words[best], words[at]))
    return chosen


def _in_common(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0
