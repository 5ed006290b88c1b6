"""People who check samples by hand: the page they work on, how far they agree, and what they correct (PII-Bench, G)."""
