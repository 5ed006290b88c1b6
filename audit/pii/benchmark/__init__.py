"""How good a filter of identifiers is: samples, the three tasks, scores (PII-Bench, arXiv 2502.18545)."""
