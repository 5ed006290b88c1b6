"""The offline judge: terms, clauses, negation, and the rules that say of whom a mention is.

May import `judge.verdict` and what is below `judge`. Loads spaCy when a judge is made, not before.
"""
