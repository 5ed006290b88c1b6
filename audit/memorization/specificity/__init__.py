"""Patient specificity K (paper 3.2.1): in how many patients' notes a text stands verbatim.

May import `cluster` and the corpus. Knows nothing of generations: it counts texts.
"""
