"""What readers get: the results schema, the publishable copy, words, tables, charts, pages.

Imports `priors` and below, and nothing of the analysis. The order of its rooms is in `pyproject.toml`.
"""
