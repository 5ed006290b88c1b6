"""Detectors of identifying text: a table of rules, a spaCy model, the site's own names, several as one.

A detector that errs raises: text that could not be looked through never counts as text in which nothing was found.
"""
