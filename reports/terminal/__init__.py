"""The same in plain text, at most 100 columns."""
