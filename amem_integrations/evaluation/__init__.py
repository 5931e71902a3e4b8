"""Measuring a memory: recall, abstention and links here, answers to questions in `qa`."""
