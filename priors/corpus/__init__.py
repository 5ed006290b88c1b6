"""The corpus: notes, patients and diagnoses, read from files, checked, and all problems reported at once.

May import `templates` and `errors`. Knows nothing of tiers, prompts or diagnoses' names.
"""
