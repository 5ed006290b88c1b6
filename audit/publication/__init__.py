"""What leaves a run: suppressed results, report, verdict; the evidence page (PHI); purge."""
