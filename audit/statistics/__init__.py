"""Confidence intervals, tests, AUROC, agreement, paired differences: formulas on counts and sums, with sources."""
