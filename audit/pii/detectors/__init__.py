"""Detectors of identifying text: rules, presidio, a spaCy model, the site's own names, and all of them together.

A detector that errs raises: text that could not be looked through never counts as text in which nothing was found.
"""
