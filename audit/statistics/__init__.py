"""Intervals, tests, AUROC, agreement, paired differences: formulas on counts and sums. Knows no language model."""
