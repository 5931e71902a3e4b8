"""Measuring recall: conversations with questions in, how much of their evidence is found out.

`reading` knows the file formats, `ingest` fills a memory, `asking` and `dense` put the questions to
it and to a baseline, `metrics` and `resampling` are the arithmetic, `recall` puts them together,
`report` is what comes out. `amem eval` calls them; nothing here prints.
"""
