"""Answering questions from memory: systems give evidence, a reader answers, metrics judge it.

`system` says what a system is, `systems` has those of the paper and ours; `reader` answers,
`metrics` scores, `run` does it all and can be resumed, `report` lays it beside the paper's tables.
"""
