"""Confidence intervals, tests, AUROC, agreement, paired differences: formulas on counts and sums, each with its source.

May import the results' records. Knows no patient, no model and no judge.
"""
