"""Two runs, before and after a mitigation: their tables joined, and the patients whom both asked paired.

May import `publication`, `measures` and below. Loads no model and no judge: it reads finished runs.
"""
