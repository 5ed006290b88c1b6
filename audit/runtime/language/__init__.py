"""Models of language beside the audited one: spaCy's English pipeline, and encoders of sentences and entailment.

May import `model` and below. Knows nothing of what is read from a text.
"""
