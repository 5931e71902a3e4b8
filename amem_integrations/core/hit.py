"""Hit: a note that a search found, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from amem_integrations.core.note import Link, Note
from amem_integrations.core.values import brief


@dataclass(frozen=True, slots=True)
class Hit:
    """A note found by a search, with its score and why it was found.

    Attributes:
        note: the note.
        score: higher is better; comparable within one search only.
        why: contribution by signal ("meaning", "words", "link", …), which sum to the score. With a
            reranker the score is `why["rerank"]`.
        via: the link that led here or lifted the note; set whenever `why` has "link".
        relevance: how probable it is that the note answers the question, in [0, 1], comparable
            across searches with the same embedder; None unless the search has a `min_relevance`.

    Examples:
        >>> _ = memory.add("Calvin wants an LRU policy for the cache")
        >>> [hit] = memory.search("Which policy has the cache?", min_relevance=0)
        >>> sorted(hit.why), hit.via, hit.relevance > 0
        (['length', 'meaning', 'statement', 'words'], None, True)
        >>> print(hit)
        1...  Calvin wants an LRU policy for the cache  [meaning ...]
    """

    note: Note
    score: float
    why: Mapping[str, float] = field(hash=False)
    via: Link | None = None
    relevance: float | None = None

    def __repr__(self) -> str:
        return brief(self)

    def __str__(self) -> str:
        signals = ", ".join(f"{name} {value:.2f}" for name, value in self.why.items())
        return f"{self.score:.3f}  {self.note.content}  [{signals}]"
