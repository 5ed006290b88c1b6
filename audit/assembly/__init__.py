"""From the stages' outcomes to `results.json` and `run.json`: completeness, caveats, provenance.

May import every stage's room and `inputs`. Computes no metric itself.
"""
