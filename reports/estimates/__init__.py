"""The table of estimates: everything measured as rows of one table, each metric said once, and what may be published.

May import `priors` and below. Knows nothing of how a figure is measured, and no page.
"""
