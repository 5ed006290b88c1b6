"""A language model behind an endpoint: approved addresses, client, questions, answers, their cache and cost.

May import `run` and below. Knows nothing of diagnoses: whatever asks a served model goes through here.
"""
