"""Measuring recall: conversations with questions in, how much of their evidence is found out.

`reading` knows the file formats, `ingest` fills a memory, `recall` asks it (`ablation` changes how)
and `dense` a baseline, `metrics` and `resampling` are the arithmetic, `report` is what comes out,
`earlier` compares with a report; `abstention` measures thresholds, `links` links by labels; `qa`
has questions answered. `amem eval` calls them.
"""
