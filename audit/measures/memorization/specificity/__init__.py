"""Patient specificity K (paper 3.2.1): in how many patients' notes a text stands verbatim.

K is a document frequency with patients for documents. Masked K is the same over notes with placeholders for their own
patients' names, ages and dates. May import `cluster` and the corpus. Knows nothing of generations: it counts texts.
"""
