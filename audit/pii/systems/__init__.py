"""Systems that find identifiers, and that say which of them a question needs (PII-Bench, 4.1); one a module.

May import detectors, relevance and `served`. Knows nothing of samples nor of scores: texts come in, answers go out.
"""
