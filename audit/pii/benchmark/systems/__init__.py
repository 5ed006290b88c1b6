"""What finds identifiers, and what says which of them a question needs (PII-Bench, 4.1): from samples to answers."""
