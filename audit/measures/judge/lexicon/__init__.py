"""The offline judge; it may import `judge.verdict` and what is below `judge`."""
