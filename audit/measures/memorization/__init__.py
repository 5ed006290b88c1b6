"""Verbatim memorization (paper 3.2.1, Appendix B): n-gram matches, regions, source notes, sections, K, and metrics.

In this room *matching* is n-gram matching of token ids, never the matching of cohorts. May import `generation`,
`model`, `statistics` and below. Knows nothing of diagnoses.
"""
