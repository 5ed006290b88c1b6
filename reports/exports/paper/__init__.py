"""The first paper's tables and figures as CSV files, from published or exact content alike (docs/results.md).

Published content gives ranges in `_low` and `_high`; exact content gives values, and the columns of deviations and
ranges that nobody else may see.
"""
