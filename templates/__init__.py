"""The structure of clinical notes: the note-template profile, headers, sections, templated text, spans.

Imports `errors` alone. Knows nothing of patients or corpora.
"""
