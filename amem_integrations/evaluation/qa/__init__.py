"""Answering questions from memory: systems give evidence, a reader answers, metrics score it."""
