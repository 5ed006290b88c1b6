"""The value behind an identifier's wording: its normal form, whose name it can be, and where a text writes it.

Knows nothing of detectors, or of whose a value is.
"""
