"""The results schema: the records of `results.json` and `compare.json`, part by part."""
