"""The order of the stages, and from their outcomes to `results.json` and `run.json`: caveats, attacks, provenance."""
