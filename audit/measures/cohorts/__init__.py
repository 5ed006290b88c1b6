"""Matched cohorts (paper 3.2.2, Appendix D): matchers, covariate balance, common support (positivity), targets.

May import `generation`, `statistics` and below. Knows nothing of how a diagnosis label came about.
"""
