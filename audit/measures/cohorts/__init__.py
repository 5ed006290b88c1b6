"""Matched cohorts (paper 3.2.2, Appendix D): matching, covariate balance, targets."""
