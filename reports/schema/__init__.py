"""The results schema: the records of `results.json` and `compare.json`, part by part, and its JSON Schema.

Owns what a field is called and what it counts. Computes nothing.
"""
