"""Output to stdout and stderr during the work: lines, progress, silenced libraries."""
