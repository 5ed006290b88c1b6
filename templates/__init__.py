"""What clinical notes look like: the note-template profile, headers, sections, templated text, spans.

Imports `errors` alone. Knows nothing of patients or corpora.
"""
