"""The report's summary, a comparison and a verdict in plain text, at most 100 columns.

May import `tables`, `wording`, `schema`, `estimates`.
"""
