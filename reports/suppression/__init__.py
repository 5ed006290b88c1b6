"""Statistical disclosure control: the copy of results and comparisons that may be published.

May import `schema`. Everything outside a run's `evidence/` is made from what it returns.
"""
