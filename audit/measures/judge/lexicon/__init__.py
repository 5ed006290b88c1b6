"""The offline judge: lexicon terms, clauses, negation detection, and rules for the experiencer of a mention.

The experiencer is whom a mention is about: the patient, a relative, or nobody (ConText; Harkema et al. 2009). May
import `judge.verdict` and what is below `judge`. Loads spaCy when a judge is made, not before.
"""
