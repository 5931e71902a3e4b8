"""What a chat model is asked, in our own words, after the intent of the paper's prompts.

One module a question: its rules, the schema of its answer, and its messages.
"""
