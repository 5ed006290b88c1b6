"""The gate: a policy against results, rule by rule, to pass, fail or inconclusive. The policies that ship are here.

May import `statistics` and below. Works on results alone: it knows no corpus, no model and no judge.
"""
