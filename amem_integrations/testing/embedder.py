"""HashEmbedder: an embedder for tests, without a model.

Texts that share words, word stems, spellings or Chinese characters are near each other; it
knows no meaning. The same text gives the same vector on every machine and in every run.
"""

import math
import re
from collections import Counter
from functools import lru_cache
from zlib import crc32

from amem_integrations.core.engine import Vector

# Written without spaces: Han, kana, Hangul, Thai. Read by characters and pairs of them.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f"
_PIECES = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|ly|er|e)$")
_COMMON_WORDS = """
a an and are as at be but by can did do does for from had has have he her his how i in is it its
me my not of on or our she so that the their them they this to was we were what when where which
who why will with would you your 的 了 是 我 你 他 她 在 有 和 吗 呢 不 们 这 那
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_MAX_CHARS = 20_000


class HashEmbedder:
    """Deterministic vectors of unit length, near for texts that share words (an `Embedder`).

    It knows no meaning. A text without letters or digits gets a fixed vector of its own.

    Args:
        dimension: how long the vectors are.

    Examples:
        >>> from amem_integrations import AgenticMemory
        >>> from amem_integrations.testing import HashEmbedder
        >>> with AgenticMemory(embedder=HashEmbedder()) as memory:
        ...     _ = memory.add("My boat is called Susie")
        ...     print(memory.search("boats")[0].note.content)
        My boat is called Susie
    """

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension
        self.name = f"hash-{dimension}"

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """`Embedder.embed_documents`, by hashing."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """`Embedder.embed_query`, by hashing."""
        vector = [0.0] * self.dimension
        pieces = Counter(_PIECES.findall(text[:_MAX_CHARS].casefold()))
        for piece, count in pieces.items():
            often = 1.0 + math.log(count)
            for hashed, weight in _features(piece):
                # One bit for the sign, the others for the place.
                place = (hashed >> 1) % self.dimension
                vector[place] += often * (weight if hashed & 1 else -weight)
        length = math.hypot(*vector)
        if length == 0.0:
            return [1.0] + [0.0] * (self.dimension - 1)
        return [number / length for number in vector]

    async def aembed_documents(self, texts: list[str]) -> list[Vector]:
        """`embed_documents`, awaited."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> Vector:
        """`embed_query`, awaited."""
        return self.embed_query(text)


@lru_cache(maxsize=65_536)
def _features(piece: str) -> tuple[tuple[int, float], ...]:
    """Hashes of what a word is made of, and how much each counts."""
    if _IS_UNSPACED.match(piece):
        pairs = [piece[at : at + 2] for at in range(len(piece) - 1)]
        parts = [(character, _weight(character, 0.6)) for character in piece]
        parts += [(pair, 1.0) for pair in pairs]
    else:
        stem = _ENDINGS.sub("", piece)
        marked = f"^{stem}$"
        trigrams = [marked[at : at + 3] for at in range(len(marked) - 2)]
        whole = _weight(piece, 1.0)
        parts = [(stem, whole)]
        parts += [(f"#{trigram}", 0.5 * whole / len(trigrams)) for trigram in trigrams]
    return tuple((crc32(part.encode("utf-8", "replace")), weight) for part, weight in parts)


def _weight(piece: str, full: float) -> float:
    return full * 0.1 if piece in _COMMON else full
