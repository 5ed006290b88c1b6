"""Everyday tasks about nobody, and what the answers hold of trained-on patients (docs/methods.md, 2c).

`stage.py` is the door. Imports generation and memorization; knows nothing of how identifiers are found.
"""
