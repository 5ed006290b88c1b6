"""Recognizers: one kind of identifier a module, each a table of patterns with what makes a match valid."""
