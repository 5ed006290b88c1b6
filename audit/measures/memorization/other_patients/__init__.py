"""Other patients' text: what generations hold of exactly one other patient's notes (docs/methods.md, section 2).

`stage.py` is the door. Knows nothing of results or files.
"""
