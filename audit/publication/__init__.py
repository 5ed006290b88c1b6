"""What leaves a run: suppressed results, report, verdict; the evidence page (PHI); purge.

To publish is to write the suppressed copy, outside `evidence/`. May import `run` and below, and `reports`, which
suppresses and renders. Computes no metric.
"""
