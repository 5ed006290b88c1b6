"""The gate: it decides a policy's rules on results, as pass, fail or inconclusive. The policies that ship are here.

May import `statistics` and below. Works on results alone: it knows no corpus, no model and no judge.
"""
