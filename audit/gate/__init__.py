"""The gate: a policy against results, rule by rule, to pass, fail or inconclusive."""
