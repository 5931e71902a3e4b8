"""Answering questions from memory: systems give evidence, a reader answers, metrics judge it.

`system` says what a system is, `systems` has those of the paper and ours; `reader`, `extractive`
and `checking` answer from evidence (`quoted` takes it apart), `metering` counts and keeps a model's
replies; `run` does it all, `metrics` and `scoring` make numbers of it, `judging` asks a model;
`report`, `document`, `figures` and `layout` show them beside what `paper` knows. `amem eval qa`.
"""
