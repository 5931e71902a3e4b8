"""Text as a local encoder can take it. For embedders and term encoders that run in the process."""


def bounded(text: str, limit: int | None = None) -> str:
    """At most `limit` characters of `text`; what is not valid Unicode becomes "?".

    A query may hold a lone surrogate, which no tokenizer takes.
    """
    return text[:limit].encode("utf-8", "replace").decode()
