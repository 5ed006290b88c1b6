"""A served model: approved addresses, client, questions, answers, their cache and cost.

Every request to a language model behind an endpoint goes through this room. May import `run` and below. Knows nothing
of what is asked, or why.
"""
