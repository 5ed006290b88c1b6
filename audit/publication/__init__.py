"""What leaves a run: suppressed results, report, verdict; the evidence page (PHI); purge.

May import `run` and below, and `reports`, which suppresses and renders. Computes no figure.
"""
