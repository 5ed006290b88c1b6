"""Disclosure of sensitive diagnoses (paper 3.2.2): verdicts to AUROC, PPV and rates, by arm and their difference."""
