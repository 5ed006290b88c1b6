"""How well a judge reads: labelled texts, prompt injections, confusion matrix, inter-rater agreement of two judges.

May import the rest of `judge` but its `stage`, which uses it.
"""
