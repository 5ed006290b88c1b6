"""The tables: which number stands in which column, for pages and terminal alike.

May import `wording`, `schema`.
"""
