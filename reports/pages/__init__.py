"""The HTML pages and the PDF, with their templates and styles: report, summary, comparison, certificate, evidence page.

May import every other room of `reports`.
"""
