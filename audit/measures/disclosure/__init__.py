"""Disclosure of sensitive diagnoses (paper 3.2.2): a judge's outcomes to AUROC, PPV and rates, by arm and their delta.

May import `cohorts`, `judge`, `statistics` and below. Knows nothing of how a judge reads.
"""
