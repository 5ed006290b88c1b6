"""The HTML pages, with their templates and styles: report, comparison, certificate, evidence page.

May import every other room of `reports`.
"""
