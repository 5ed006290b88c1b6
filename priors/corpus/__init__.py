"""The corpus: notes, patients and diagnoses, read from files and validated; all problems are reported at once.

May import `templates` and `errors`. Knows nothing of tiers, prompts or diagnoses' names.
"""
