"""Samples of the benchmark: their record, whether one is what it says, and what a set of them holds."""
