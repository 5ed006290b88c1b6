"""Verbatim memorization (paper 3.2.1, Appendix B): match, region, source note, section and template, K; their metrics.

May import `generation`, `model`, `statistics` and below. Knows nothing of diagnoses, judges or cohorts.
"""
