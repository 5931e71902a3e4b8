"""How many tokens a text takes, estimated without a tokenizer.

Tokenizers pack letters of English words, and spaces, several to a token. Nearly everything
else takes about one token a character: digits, punctuation, and the letters of other scripts.
"""

import re

_DENSE = re.compile(r"[^A-Za-z\s]")
_WORD = re.compile("[A-Za-z]+")


def estimate_tokens(text: str) -> int:
    """Tokens in `text`, an estimate that rarely falls much below what a tokenizer counts."""
    dense = _DENSE.subn("", text)[1]
    packed = len(text) - dense
    return dense + max(-(-packed // 4), _WORD.subn("", text)[1])
