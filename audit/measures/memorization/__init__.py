"""Memorization (paper 3.2.1, Appendix B): n-gram matches, regions, source notes, sections, K; near-verbatim text.

In this room *matching* is n-gram matching of token ids, never the matching of cohorts. Of diagnoses it knows the terms,
which no boilerplate holds. May import `generation`, `model`, `statistics` and below.
"""
