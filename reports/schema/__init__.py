"""The results schema: the records of `results.json` and `compare.json`, part by part, and its JSON Schema.

Imports no other room of `reports`. Owns what a field is called and what it counts, and computes nothing.
"""
