"""The offline judge: terms, clauses, negation, and the rules that say of whom a mention is."""
