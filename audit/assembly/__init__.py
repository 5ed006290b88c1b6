"""From the stages' outcomes to `results.json` and `run.json`: completeness, caveats, provenance."""
