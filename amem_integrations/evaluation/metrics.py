"""How good a ranking is, for one question: pure functions of the ranks of its evidence.

Ranks count from 1; evidence that was not found has none. `resampling` makes means of these.
"""

from collections.abc import Mapping, Sequence
from math import log2

Ranks = tuple[int | None, ...]
"""The rank of each turn that is evidence, None where it was not found."""

ALL_AT = NDCG_AT = 10


def ranks_of(evidence: Sequence[str], ranking: Sequence[str]) -> Ranks:
    """The ranks of `evidence` in `ranking`, best first; the first counts where ids repeat."""
    places: dict[str, int] = {}
    for place, id in enumerate(ranking, 1):
        places.setdefault(id, place)
    return tuple(map(places.get, evidence))


def recall(ranks: Ranks, k: int) -> float:
    """The share of the evidence among the first `k`."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def all_evidence(ranks: Ranks, k: int) -> float:
    """1 if all of the evidence is among the first `k`, else 0."""
    return float(recall(ranks, k) == 1.0)


def reciprocal_rank(ranks: Ranks) -> float:
    """1 / the rank of the first evidence, 0 where there is none."""
    return 1 / min((rank for rank in ranks if rank is not None), default=float("inf"))


def ndcg(ranks: Ranks, k: int) -> float:
    """Discounted gain of the first `k` over the best possible; all evidence counts the same."""
    gain = sum(1 / log2(rank + 1) for rank in ranks if rank is not None and rank <= k)
    return gain / sum(1 / log2(place + 1) for place in range(1, min(len(ranks), k) + 1))


def scores(ranks: Ranks, cutoffs: Sequence[int]) -> Mapping[str, float]:
    """Every metric by its name, each in [0, 1]."""
    return {
        **{f"recall@{k}": recall(ranks, k) for k in cutoffs},
        "mrr": reciprocal_rank(ranks),
        f"ndcg@{NDCG_AT}": ndcg(ranks, NDCG_AT),
        f"all@{ALL_AT}": all_evidence(ranks, ALL_AT),
    }
