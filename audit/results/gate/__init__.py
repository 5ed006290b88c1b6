"""The gate: it decides a policy's rules on the table of estimates, as pass, fail or inconclusive.

The policies that ship are here. May import `measures` and below. Knows no corpus, no model and no judge.
"""
