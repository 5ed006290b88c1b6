"""The records of `evidence/results.json`: every number exactly as it was measured (PHI).

Owns what the evidence holds. Only `suppression` makes anything publishable of it; no page may import it.
"""
