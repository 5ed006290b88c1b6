"""Models of language beside the audited one: spaCy's English pipeline, and encoders of sentences and entailment."""
