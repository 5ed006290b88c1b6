"""Matched cohorts (paper 3.2.2, Appendix D): matching, covariate balance, targets.

May import `generation`, `statistics` and below. Knows nothing of how a diagnosis label came about.
"""
