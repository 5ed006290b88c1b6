"""Two runs, before and after a mitigation: paired differences, patient by patient or from what is published.

May import `disclosure`, `memorization` and below. Loads no model and no judge: it reads finished runs.
"""
